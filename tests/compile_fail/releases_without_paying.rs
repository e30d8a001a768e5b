use rhograd::{
    privacy::{GaussianEvent, L2, Scope},
    private::{Permit, Released, Sensitive},
};

fn free(event: GaussianEvent, scope: Scope, sum: Sensitive<L2>) -> Released {
    let permit = Permit::<GaussianEvent> { event, scope, release: 0 }; //~ error
    permit.release(sum).unwrap()
}

fn main() {}
