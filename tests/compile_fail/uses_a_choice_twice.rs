use rhograd::{
    privacy::{Range, ExponentialCharge},
    private::{Permit, Sensitive},
};

fn twice(permit: Permit<ExponentialCharge>, first: Sensitive<Range>, second: Sensitive<Range>) {
    let _ = permit.choose(first);
    let _ = permit.choose(second); //~ E0382
}

fn main() {}
