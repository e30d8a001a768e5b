use rhograd::privacy::Norm;

enum Mine {}

impl Norm for Mine {
    const NAME: &'static str = "mine";
}

fn main() {}
