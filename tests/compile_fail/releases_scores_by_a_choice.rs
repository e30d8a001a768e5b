use rhograd::{
    privacy::{Range, ExponentialCharge},
    private::{Permit, Sensitive},
};

fn opened(permit: Permit<ExponentialCharge>, scores: Sensitive<Range>) {
    let _ = permit.release(scores); //~ E0599
}

fn main() {}
