use rhograd::{
    privacy::{L2, ExponentialCharge},
    private::{Permit, Sensitive},
};

fn chosen(permit: Permit<ExponentialCharge>, sum: Sensitive<L2>) {
    let _ = permit.choose(sum); //~ E0308
}

fn main() {}
