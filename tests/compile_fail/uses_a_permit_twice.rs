use rhograd::{
    privacy::L2,
    private::{Permit, Sensitive},
};

fn twice(permit: Permit<L2>, first: Sensitive<L2>, second: Sensitive<L2>) {
    let _ = permit.release(first);
    let _ = permit.release(second);
}

fn main() {}
