//! Images and PDFs beside the results of tools, in each wire format.

use rouse_agent::connect;
use rouse_core::attachment::{Attachment, MediaKind};
use rouse_core::message::{Message, Part, ToolCallRequest};
use rouse_testkit::fake_model::FakeModel;
use serde_json::{Value, json};

use super::formats::{Format, ask, safety_without_secrets, task};

/// The messages of a request to `model` after a tool has returned `files`.
async fn sent(format: Format, model: &str, files: Vec<Attachment>) -> Value {
    let server = FakeModel::replying([format.reply("words")]);
    let call = ToolCallRequest {
        id: "call_1".to_owned(),
        tool: "read_file".to_owned(),
        arguments: json!({ "path": "photo.png" }),
    };
    let result = Message::ToolResult {
        call_id: call.id.clone(),
        tool: call.tool.clone(),
        text: "photo.png is a PNG image.".to_owned(),
        is_error: false,
    };
    let call_message = Message::Assistant { parts: vec![Part::ToolCall(call)] };
    let mut request =
        format.request(vec![task(), call_message, result, Message::Attachments { files }]);
    request.model = model.to_owned();
    let provider = connect(&format.config(&server), &safety_without_secrets()).expect("an address");
    ask(&provider, request).await.1.expect("an answer");
    let mut body = server.bodies().remove(0);
    body[if format == Format::Responses { "input" } else { "messages" }].take()
}

fn photo() -> Attachment {
    Attachment::new("photo.png", MediaKind::Png, b"png".to_vec())
}

fn letter() -> Attachment {
    Attachment::new("letter.pdf", MediaKind::Pdf, b"pdf".to_vec())
}

fn last_content(messages: &Value) -> &Value {
    &messages.as_array().expect("messages").last().expect("one")["content"]
}

#[tokio::test]
async fn anthropic_gets_image_and_document_after_the_results() {
    let messages = sent(Format::Messages, "claude-sonnet-5-5", vec![photo(), letter()]).await;
    let content = last_content(&messages);
    assert_eq!(content[0]["type"], "tool_result");
    assert!(
        content[1]["text"]
            .as_str()
            .is_some_and(|text| text.contains("“photo.png” (PNG image, 1 kB) is shown.")),
        "{content}"
    );
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "cG5n" });
    assert_eq!((&content[2]["type"], &content[2]["source"]), (&json!("image"), &source));
    assert_eq!(content[3]["type"], "document");
    assert_eq!(content[3]["source"]["data"], "cGRm");
}

#[tokio::test]
async fn responses_gets_image_and_file_in_user_messages() {
    let input = sent(Format::Responses, "gpt-5.6-terra", vec![photo(), letter()]).await;
    let items = input.as_array().expect("items");
    let [.., result, label, image, file] = items.as_slice() else { panic!("{input}") };
    assert_eq!(result["type"], "function_call_output");
    assert_eq!(label["content"][0]["type"], "input_text");
    assert_eq!(image["content"][0]["image_url"], "data:image/png;base64,cG5n");
    assert_eq!(file["content"][0]["type"], "input_file");
    assert_eq!(file["content"][0]["file_data"], "data:application/pdf;base64,cGRm");
}

#[tokio::test]
async fn chat_gets_the_image_in_a_user_message_and_no_pdf() {
    let messages = sent(Format::Chat, "gpt-4o", vec![photo(), letter()]).await;
    let list = messages.as_array().expect("messages");
    assert_eq!(list[list.len() - 2]["role"], "tool");
    let content = last_content(&messages);
    assert_eq!(content[1]["image_url"]["url"], "data:image/png;base64,cG5n");
    assert_eq!(content.as_array().map(Vec::len), Some(2), "{content}");
    assert!(
        content[0]["text"].as_str().is_some_and(|text| text.contains(
            "“letter.pdf” (PDF document, 1 kB) is not shown: this model does not read such files."
        )),
        "{content}"
    );
}

#[tokio::test]
async fn text_model_gets_a_note_about_the_file() {
    for model in ["qwen3:4b", "my-model"] {
        let messages = sent(Format::Chat, model, vec![photo()]).await;
        let text = last_content(&messages).as_str().expect("plain text").to_owned();
        assert!(text.contains("is not shown: this model does not read such files."), "{text}");
    }
}

#[tokio::test]
async fn expired_attachment_has_a_note() {
    let mut gone = photo();
    gone.drop_data();
    let messages = sent(Format::Messages, "claude-sonnet-5-5", vec![gone]).await;
    let content = last_content(&messages);
    assert!(
        content[1]["text"].as_str().is_some_and(
            |text| text.contains("is not shown any more. Repeat the call to see the file.")
        ),
        "{content}"
    );
    assert_eq!(content.as_array().map(Vec::len), Some(2));
}
