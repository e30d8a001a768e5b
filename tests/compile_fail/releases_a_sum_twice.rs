use rhograd::{
    privacy::{GaussianEvent, L2},
    private::{Permit, Sensitive},
};

fn twice(first: Permit<GaussianEvent>, second: Permit<GaussianEvent>, sum: Sensitive<L2>) {
    let _ = first.release(sum);
    let _ = second.release(sum); //~ E0382
}

fn main() {}
