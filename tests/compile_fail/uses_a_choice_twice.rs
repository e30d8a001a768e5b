use rhograd::{
    privacy::{Range, SelectionEvent},
    private::{Permit, Sensitive},
};

fn twice(permit: Permit<SelectionEvent>, first: Sensitive<Range>, second: Sensitive<Range>) {
    let _ = permit.choose(first);
    let _ = permit.choose(second); //~ E0382
}

fn main() {}
