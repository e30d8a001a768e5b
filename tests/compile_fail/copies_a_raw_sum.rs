use rhograd::{privacy::L2, private::Sensitive};

fn copy(sum: &Sensitive<L2>) -> Sensitive<L2> {
    sum.clone() //~ E0308
}

fn main() {}
