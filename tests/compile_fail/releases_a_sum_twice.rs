use rhograd::{
    privacy::L2,
    private::{Permit, Sensitive},
};

fn twice(first: Permit<L2>, second: Permit<L2>, sum: Sensitive<L2>) {
    let _ = first.release(sum);
    let _ = second.release(sum);
}

fn main() {}
