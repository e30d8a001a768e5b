use rhograd::{
    privacy::Range,
    private::{Permit, Sensitive},
};

fn twice(permit: Permit<Range>, first: Sensitive<Range>, second: Sensitive<Range>) {
    let _ = permit.choose(first);
    let _ = permit.choose(second);
}

fn main() {}
