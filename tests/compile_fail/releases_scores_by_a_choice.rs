use rhograd::{
    privacy::{Range, SelectionEvent},
    private::{Permit, Sensitive},
};

fn opened(permit: Permit<SelectionEvent>, scores: Sensitive<Range>) {
    let _ = permit.release(scores); //~ E0599
}

fn main() {}
