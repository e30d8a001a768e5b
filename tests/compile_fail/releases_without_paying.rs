use rhograd::{
    privacy::{Charge, L2, Scope},
    private::{Permit, Released, Sensitive},
};

fn free(charge: Charge, scope: Scope, sum: Sensitive<L2>) -> Released {
    let permit = Permit::<L2> { charge, scope, release: 0 };
    permit.release(sum).unwrap()
}

fn main() {}
