//! What a judged call may become.

use serde_json::json;

use super::*;

#[test]
fn only_values_in_the_place_of_handles_make_another_call_of_one_that_was_judged() {
    let arguments = json!({"url": "https://a.example/{{secret:k}}", "n": [1, "x"]});
    let judged = || ApprovedCall { arguments: arguments.clone() };
    let filled = json!({"url": "https://a.example/v", "n": [1, "x"]});
    let call = judged().with_values(filled.clone()).expect("the same call");
    assert_eq!(call.arguments(), &filled);
    for other in [
        json!({"url": "https://a.example/v", "n": [1, "y"]}),
        json!({"url": "https://a.example/v", "n": [2, "x"]}),
        json!({"url": "https://a.example/v", "n": [1, "x", 3]}),
        json!({"url": "https://a.example/v"}),
        json!({"url": "https://a.example/v", "n": [1, "x"], "more": 1}),
        json!({"address": "https://a.example/v", "n": [1, "x"]}),
        json!({"url": ["v"], "n": [1, "x"]}),
    ] {
        assert_eq!(judged().with_values(other.clone()), None, "{other}");
    }
}
