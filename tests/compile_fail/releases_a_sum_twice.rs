use rhograd::{
    privacy::{GaussianCharge, L2},
    private::{Permit, Sensitive},
};

fn twice(first: Permit<GaussianCharge>, second: Permit<GaussianCharge>, sum: Sensitive<L2>) {
    let _ = first.release(sum);
    let _ = second.release(sum); //~ E0382
}

fn main() {}
