use rhograd::{
    privacy::{GaussianCharge, L2},
    private::{Permit, Sensitive},
};

fn twice(permit: Permit<GaussianCharge>, first: Sensitive<L2>, second: Sensitive<L2>) {
    let _ = permit.release(first);
    let _ = permit.release(second); //~ E0382
}

fn main() {}
