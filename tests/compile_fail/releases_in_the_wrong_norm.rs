use rhograd::{
    privacy::{GaussianEvent, L1},
    private::{Permit, Sensitive},
};

fn mixed(permit: Permit<GaussianEvent>, sum: Sensitive<L1>) {
    let _ = permit.release(sum); //~ E0308
}

fn main() {}
