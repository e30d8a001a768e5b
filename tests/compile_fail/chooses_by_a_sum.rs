use rhograd::{
    privacy::{L2, SelectionEvent},
    private::{Permit, Sensitive},
};

fn chosen(permit: Permit<SelectionEvent>, sum: Sensitive<L2>) {
    let _ = permit.choose(sum); //~ E0308
}

fn main() {}
