use rhograd::{privacy::L2, private::Sensitive};

fn read(sum: Sensitive<L2>) -> Vec<i128> {
    sum.values
}

fn main() {}
