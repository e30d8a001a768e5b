use rhograd::{
    privacy::{GaussianCharge, L2},
    private::{ChargedRun, LoggedRun, Release, Sensitive},
};

fn around(run: &mut ChargedRun, logged: impl FnOnce(LoggedRun<'_>), sum: Sensitive<L2>) {
    let mut nobody = |_: &Release<'_>| Ok(());
    let log = run.logged(&mut nobody);
    let _ = run.permit::<GaussianCharge>().map(|permit| permit.release(sum)); //~ E0499
    logged(log);
}

fn main() {}
