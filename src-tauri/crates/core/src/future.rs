//! The boxed future of ports.

use std::future::Future;
use std::pin::Pin;

/// A boxed future, the return type of ports.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
