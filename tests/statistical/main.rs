//! Numbers: accountants against golden points, samplers against their laws, audits against claims.

mod account_eval;
mod accountant;
mod accounting;
mod audit;
mod pld;
mod pld_edges;
mod samplers;
mod uncertainty;
