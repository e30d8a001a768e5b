use rhograd::{
    privacy::{GaussianCharge, L2, Scope},
    private::{Permit, Released, Sensitive},
};

fn free(event: GaussianCharge, scope: Scope, sum: Sensitive<L2>) -> Released {
    let permit = Permit::<GaussianCharge> { event, scope, release: 0 }; //~ error
    permit.release(sum).unwrap()
}

fn main() {}
