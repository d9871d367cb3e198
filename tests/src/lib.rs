//! Whole-system tests of Rouse.
