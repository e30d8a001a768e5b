use rhograd::{
    privacy::{GaussianEvent, L2},
    private::{Permit, Sensitive},
};

fn twice(permit: Permit<GaussianEvent>, first: Sensitive<L2>, second: Sensitive<L2>) {
    let _ = permit.release(first);
    let _ = permit.release(second); //~ E0382
}

fn main() {}
