use rhograd::{
    privacy::{GaussianCharge, L1},
    private::{Permit, Sensitive},
};

fn mixed(permit: Permit<GaussianCharge>, sum: Sensitive<L1>) {
    let _ = permit.release(sum); //~ E0308
}

fn main() {}
