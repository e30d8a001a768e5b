use rhograd::{
    privacy::Range,
    private::{Permit, Sensitive},
};

fn opened(permit: Permit<Range>, scores: Sensitive<Range>) {
    let _ = permit.release(scores);
}

fn main() {}
