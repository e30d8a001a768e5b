use rhograd::{
    privacy::{L1, L2},
    private::{Permit, Sensitive},
};

fn mixed(permit: Permit<L2>, sum: Sensitive<L1>) {
    let _ = permit.release(sum);
}

fn main() {}
