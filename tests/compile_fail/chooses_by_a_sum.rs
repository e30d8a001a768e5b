use rhograd::{
    privacy::{L2, Range},
    private::{Permit, Sensitive},
};

fn chosen(permit: Permit<Range>, sum: Sensitive<L2>) {
    let _ = permit.choose(sum);
}

fn main() {}
