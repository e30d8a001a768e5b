use rhograd::{
    error::Fallible,
    privacy::{GaussianCharge, L2},
    private::{LoggedRun, Released, Sensitive},
};

fn unheard(run: &mut LoggedRun<'_>, sum: Sensitive<L2>) -> Fallible<Released> {
    run.permit::<GaussianCharge>()?.release(sum) //~ E0599
}

fn main() {}
