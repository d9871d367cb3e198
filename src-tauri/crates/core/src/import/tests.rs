use serde_json::json;

use super::*;
use crate::UnixMs;
use crate::job::{imported_job_from_json, job_from_json};

fn entries(text: &str) -> Vec<ImportEntry> {
    read(text, None).unwrap_or_else(|error| panic!("{error} in {text}")).entries
}

fn one(job: &Value) -> ImportEntry {
    entries(&json!({ "version": 1, "jobs": [job] }).to_string()).remove(0)
}

fn job(entry: &ImportEntry) -> &Value {
    entry.job.as_ref().unwrap_or_else(|reason| panic!("{reason}"))
}

#[track_caller]
fn refused(text: &str, words: &str) {
    let error = read(text, None).expect_err("refused").to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn each_format_is_recognised() {
    let rfc = json!({ "name": "a", "schedule": { "kind": "every", "everyMs": 1000 }, "payload": { "kind": "systemEvent", "text": "x" } });
    let mut ours = rfc.clone();
    ours["policies"] = json!({});
    let mut theirs = rfc.clone();
    theirs["delivery"] = json!({ "mode": "none" });
    for (document, format) in [
        (json!({ "format": "rouse", "version": 1, "jobs": [rfc] }), ImportFormat::Rouse),
        (json!([ours]), ImportFormat::Rouse),
        (json!({ "version": 1, "jobs": [rfc] }), ImportFormat::Rfc),
        (rfc.clone(), ImportFormat::Rfc),
        (json!({ "jobs": [rfc, theirs], "total": 2 }), ImportFormat::OpenClaw),
    ] {
        assert_eq!(read(&document.to_string(), None).expect("jobs").format, format, "{document}");
    }
    for crontab in ["\u{feff}# mine\r\n0 7 * * 1-5 wake me\r\n", "@reboot x", "A=1\n@daily x"] {
        assert_eq!(read(crontab, None).expect("jobs").format, ImportFormat::Crontab, "{crontab}");
    }
    let import = read(&json!([theirs]).to_string(), Some(ImportFormat::Rfc)).expect("jobs");
    assert_eq!(import.format, ImportFormat::Rfc);
}

#[test]
fn file_without_jobs_is_an_error() {
    for (text, words) in [
        ("", "holds no jobs"),
        ("Dear diary,\ntoday nothing happened at all\n", "holds no jobs"),
        ("7", "holds no jobs"),
        ("{}", "holds no jobs"),
        (r#"{"jobs": 7}"#, "holds no jobs"),
        ("[]", "holds no jobs"),
        ("{", "not JSON"),
        ("[1, 2] trailing", "not JSON"),
        (r#"[{"name": "a", "name": "b"}]"#, "the key `name` stands twice"),
        (r#"[{"name": "a", "payload": {"to": 1, "to": 2}}]"#, "the key `to` stands twice"),
        ("0 7 * * * x\0y", "NUL character (byte 11)"),
        ("[1e999]", "not JSON"),
    ] {
        refused(text, words);
    }
    refused(&"[".repeat(100_000), "not JSON");
    refused(&format!("{}{}", "[".repeat(200), "]".repeat(200)), "not JSON");
    refused(&" ".repeat(MOST_BYTES + 1), "larger than 8 MB");
    let newer = json!({ "format": "rouse", "version": 2, "jobs": [] }).to_string();
    refused(&newer, "by a newer Rouse (format version 2; this version reads 1)");
    refused(&format!("[{}7]", "7,".repeat(10_000)), "10001 jobs");
}

/// A job with `levels` nested objects, the job included.
fn nested(levels: usize) -> Value {
    let inner = (2..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    json!({
        "name": "nested", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Look" }, "notes": inner,
    })
}

#[test]
fn imported_job_is_validated_like_an_added_job() {
    let add = |job: &Value| job_from_json(job.clone(), UnixMs(0), chrono_tz::UTC);
    let import = |job: Value| imported_job_from_json(job, UnixMs(0), chrono_tz::UTC);
    let mut with_nul = nested(3);
    with_nul["payload"]["to"] = json!("a\u{0}b");
    let mut with_nul_key = nested(3);
    with_nul_key["notes"]["list"] = json!([{ "a\u{0}b": 1 }]);
    for (job, field) in [
        (nested(40), None),
        (nested(41), Some("notes.a.a")),
        (nested(60), Some("notes.a.a")),
        (with_nul, Some("payload.to")),
        (with_nul_key, Some("notes.list[0].a⟨U+0000⟩b")),
    ] {
        let refused = add(&job).err().map(|error| error.0[0].path.clone());
        assert_eq!(refused.as_deref(), field);
        let good = nested(3);
        let file = json!({ "format": "rouse", "version": 1, "jobs": [good, job] }).to_string();
        let entries = read(&file, None).expect("the file as such is good").entries;
        let [good, other] = entries.try_into().expect("two");
        assert!(import(good.job.expect("a job")).is_ok());
        let refused = import(other.job.expect("a document")).err();
        assert_eq!(refused.map(|error| error.0[0].path.clone()).as_deref(), field);
    }
}

#[test]
fn file_over_eight_megabytes_is_refused() {
    let line = "* * * * * x\n";
    refused(&line.repeat(10_000_000 / line.len()), "larger than 8 MB");
    refused(&line.repeat(MOST_BYTES / line.len()), "at most 10000");
}

#[test]
fn jobs_of_rouse_and_rfc_are_taken_unchanged() {
    let original = json!({
        "id": "1", "name": "a", "theirs": { "deep": [1] }, "schedule": { "kind": "every", "everyMs": 1000, "x": 1 },
        "sessionTarget": "isolated", "payload": { "kind": "agentTurn", "message": "Look", "deliver": true, "to": "+49" },
        "state": { "lastStatus": "ok" },
    });
    let entry = one(&original);
    assert_eq!((job(&entry), entry.is_faithful, entry.notes.len()), (&original, true, 0));
}

#[test]
fn agent_turn_for_main_becomes_a_system_event() {
    let entry = one(&json!({
        "name": "a", "sessionTarget": "main", "payload": { "kind": "agentTurn", "message": "Look", "to": "x" },
        "schedule": { "kind": "every", "everyMs": 1000 },
    }));
    let payload = json!({ "kind": "systemEvent", "to": "x", "text": "Look" });
    assert_eq!(job(&entry)["payload"], payload);
    assert_eq!(entry.notes.len(), 2);
}

#[test]
fn delivery_of_a_turn_for_main_is_noted_as_void() {
    let notes_of = |keys: &str| -> Vec<String> {
        let text = format!(
            r#"[{{"name": "a", "sessionTarget": "main", "schedule": {{"kind": "manual"}},
            "payload": {{"kind": "agentTurn", "message": "Look"{keys}}}}}]"#
        );
        let notes = read(&text, Some(ImportFormat::Rfc)).expect("a job").entries.remove(0).notes;
        notes.into_iter().filter(|note| note.contains("Nothing is sent")).collect()
    };
    let all = notes_of(r#", "deliver": true, "channel": "telegram", "to": "42""#);
    for word in ["`deliver: true`", "`channel: telegram`", "`to: 42`"] {
        assert!(all.len() == 1 && all[0].contains(word), "{all:?}");
    }
    for one in [r#", "deliver": true"#, r#", "channel": "last""#, r#", "to": "42""#] {
        assert_eq!(notes_of(one).len(), 1, "{one}");
    }
    for none in ["", r#", "deliver": false, "channel": "last""#, r#", "to": null"#] {
        assert_eq!(notes_of(none).len(), 0, "{none}");
    }
}

#[test]
fn openclaw_fields_without_counterpart_are_noted() {
    let before = one(&openclaw()).notes;
    assert!(before.iter().any(|note| note.contains("level (low)")), "{before:?}");
    for (place, value, words) in [
        ("/pacing", json!({ "minMs": 1000 }), "The pacing"),
        ("/failureAlert", json!({ "after": 2 }), "Failure alerts"),
        ("/payload/lightContext", json!(true), "light context"),
        ("/payload/fallbacks", json!(["a/b", "c"]), "(a/b, c)"),
    ] {
        let mut document = openclaw();
        let (parent, key) = place.rsplit_once('/').expect("a place");
        document.pointer_mut(parent).expect("a parent")[key] = value.clone();
        let entry = one(&document);
        let new: Vec<_> = entry.notes.iter().filter(|note| !before.contains(note)).collect();
        assert!(new.len() == 1 && new[0].contains(words), "{words}: {new:?}");
        if key == "fallbacks" {
            assert_eq!(job(&entry)["payload"].get(key), None, "no fallback is called");
            assert_eq!(job(&entry)["importedFrom"][key], value);
        }
    }
}

#[test]
fn job_without_an_id_gets_a_stable_id() {
    let ids = |jobs: &str| -> Vec<Value> {
        entries(jobs).iter().map(|entry| job(entry)["id"].clone()).collect()
    };
    let schedule = r#""schedule": {"kind": "every", "everyMs": 1000}"#;
    let first = ids(&format!(r#"[{{"name": "a", {schedule}}}, {{"name": "b", {schedule}}}]"#));
    let other = format!(
        r#"[{{"id": " ", "enabled": false, {schedule}, "createdAtMs": 7, "name": "b", "state": {{}}}}]"#
    );
    assert_eq!(ids(&other), first[1..], "order, state and dates make no other job");
    assert_ne!(first[0], first[1]);
    let twins = ids(&format!(r#"[{{"name": "a", {schedule}}}, {{"name": "a", {schedule}}}]"#));
    assert_eq!(twins[0], first[0]);
    assert_ne!(twins[1], first[0], "equal jobs of a file stay separate");
    assert_eq!(ids(&format!(r#"[{{"id": "mine", "name": "a", {schedule}}}]"#)), [json!("mine")]);
}

/// The output of `openclaw cron list --json`, with all fields that have a meaning here.
fn openclaw() -> Value {
    json!({
        "id": "c0ffee00-0000-4000-8000-000000000001",
        "agentId": "main",
        "name": "Brief",
        "description": "News",
        "enabled": true,
        "deleteAfterRun": false,
        "createdAtMs": 1,
        "schedule": { "kind": "cron", "expr": "0 7 * * *", "tz": "Europe/Berlin", "staggerMs": 300_000 },
        "sessionTarget": "session:daily",
        "wakeMode": "now",
        "payload": { "kind": "agentTurn", "message": "Brief me", "model": "anthropic/claude", "thinking": "low", "timeoutSeconds": 0, "toolsAllow": ["web"] },
        "delivery": { "mode": "announce", "channel": "telegram", "to": "42", "bestEffort": true },
        "state": { "nextRunAtMs": 5 },
    })
}

#[test]
fn openclaw_fields_are_translated() {
    let entry = one(&openclaw());
    let job = job(&entry);
    assert!(entry.is_faithful);
    assert_eq!(
        job["schedule"],
        json!({ "kind": "cron", "expr": "0 7 * * *", "tz": "Europe/Berlin", "jitterMs": 300_000 })
    );
    assert_eq!(
        job["payload"],
        json!({ "kind": "agentTurn", "message": "Brief me", "thinking": "low", "tools": ["web"], "deliver": true, "channel": "telegram", "to": "42" })
    );
    assert_eq!(job["sessionTarget"], "isolated");
    assert_eq!(
        job["importedFrom"],
        json!({ "model": "anthropic/claude", "sessionTarget": "session:daily", "format": "openclaw" })
    );
    assert_eq!((&job["agentId"], &job["delivery"]["bestEffort"]), (&json!("main"), &json!(true)));
    assert_eq!(entry.notes.len(), 5, "{:?}", entry.notes);
}

#[test]
fn openclaw_instant_is_read_in_every_form() {
    for (at, ms) in [
        (json!("2026-02-01T16:00:00Z"), 1_769_961_600_000_i64),
        (json!("2026-02-01T17:00:00+01:00"), 1_769_961_600_000),
        (json!("2026-02-01T16:00"), 1_769_961_600_000),
        (json!("2026-02-01"), 1_769_904_000_000),
        (json!(1_769_961_600_000_i64), 1_769_961_600_000),
    ] {
        let mut document = openclaw();
        document["schedule"] = json!({ "kind": "at", "at": at });
        assert_eq!(job(&one(&document))["schedule"], json!({ "kind": "at", "atMs": ms }), "{at}");
    }
    let mut document = openclaw();
    document["schedule"] = json!({ "kind": "at", "at": "tomorrow" });
    assert!(one(&document).job.expect_err("refused").contains("schedule.at"));
}

#[test]
fn commands_stay_disabled_without_environment_values() {
    let mut document = openclaw();
    document["payload"] = json!({ "kind": "command", "argv": ["backup", "it's all"], "env": { "KEY": "sk-CANARY" }, "cwd": "/", "timeoutSeconds": 0 });
    let entry = one(&document);
    assert!(!entry.is_faithful && entry.notes[0].contains("KEY"), "{entry:?}");
    let command = json!({ "command": r"backup 'it'\''s all'", "cwd": "/" });
    assert_eq!(
        job(&entry)["payload"],
        json!({ "kind": "toolCall", "tool": "run_command", "arguments": command })
    );
    assert_eq!(job(&entry)["sessionTarget"], "isolated");
    assert!(!format!("{entry:?}").contains("CANARY"));
    document["payload"]["outputMaxBytes"] = json!(9);
    document["payload"]["futureKey"] = json!("kept");
    let entry = one(&document);
    assert!(entry.notes.iter().any(|note| note.contains("outputMaxBytes")), "{entry:?}");
    let origin = &job(&entry)["importedFrom"]["payload"];
    assert_eq!((&origin["futureKey"], &origin["env"]), (&json!("kept"), &json!({ "KEY": null })));

    let mut document = openclaw();
    document["payload"] = json!({ "kind": "script", "script": "return 1" });
    let entry = one(&document);
    assert!(!entry.is_faithful);
    assert_eq!(job(&entry)["payload"]["text"], "Due, but not run by Rouse: the script of Brief");
    assert_eq!(job(&entry)["importedFrom"]["payload"]["script"], "return 1");

    let mut document = openclaw();
    document["trigger"] = json!({ "script": "return {fire: false}" });
    assert!(!one(&document).is_faithful);
    for (part, kind) in [("schedule", "on-exit"), ("schedule", "stream"), ("payload", "heartbeat")]
    {
        let mut document = openclaw();
        document[part] = json!({ "kind": kind });
        assert!(one(&document).job.is_err(), "{kind}");
    }
}

#[test]
fn tool_call_in_a_format_without_calls_stays_disabled() {
    let call =
        json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": "id" } });
    let mut theirs = openclaw();
    theirs["payload"] = call.clone();
    let mut rfc = theirs.clone();
    for key in ["agentId", "delivery"] {
        rfc.as_object_mut().expect("a job").remove(key);
    }
    rfc["schedule"] = json!({ "kind": "every", "everyMs": 60_000 });
    rfc["sessionTarget"] = json!("isolated");
    for (job, format) in
        [(&theirs, None), (&theirs, Some(ImportFormat::OpenClaw)), (&rfc, Some(ImportFormat::Rfc))]
    {
        let text = json!({ "jobs": [job] }).to_string();
        let entry = read(&text, format).expect("jobs").entries.remove(0);
        assert!(!entry.is_faithful, "{format:?}: {entry:?}");
        assert!(entry.notes.iter().any(|note| note.contains("Disabled until")), "{entry:?}");
    }
    let ours = json!({ "format": "rouse", "version": 1, "jobs": [rfc] }).to_string();
    assert!(read(&ours, None).expect("jobs").entries[0].is_faithful, "our own export has calls");
}

#[test]
fn environment_values_are_dropped_anywhere() {
    let (pairs, list) = (
        json!({ "A": "sk-CANARY-1" }),
        json!(["B=sk-CANARY-2", { "name": "C", "value": "sk-CANARY-3" }]),
    );
    for (payload, trigger) in [
        (json!({ "kind": "script", "script": "return 1", "env": list }), json!({ "env": pairs })),
        (json!({ "kind": "command", "argv": ["x"], "env": list }), Value::Null),
        (
            json!({ "kind": "agentTurn", "message": "x", "env": pairs, "sandbox": [{ "environment": list }] }),
            Value::Null,
        ),
        (json!({ "kind": "agentTurn", "message": "x", "env": "D=sk-CANARY-4" }), Value::Null),
    ] {
        let mut document = openclaw();
        (document["payload"], document["trigger"]) = (payload, trigger);
        let entry = one(&document);
        assert!(!format!("{entry:?}").contains("CANARY"), "{entry:?}");
    }
    let mut document = openclaw();
    document["payload"] = json!({ "kind": "command", "argv": ["x"], "env": list });
    let entry = one(&document);
    assert!(entry.notes[0].contains("left out: B, C."), "{entry:?}");
}

const CRONTAB: &str = r#"
# m h dom mon dow command
SHELL=/bin/bash
MAILTO = "me@example.org"
API_KEY='sk-CANARY'
*/15 9-17 * * MON-FRI  /usr/bin/check --quiet
CRON_TZ=America/New_York
30 7 * * 1-5 mail -s "50\% off" me%Hello%%Bye
@daily   tidy up
-0 0 */2 * 1 quiet
@reboot start-me
0 25 * * * never
0 7 * *
@weekly
0 7 * * * twice
0 7 * * * twice
"#;

#[test]
fn crontab_is_read_line_by_line() {
    let read = entries(CRONTAB);
    let names: Vec<&str> = read.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "/usr/bin/check --quiet",
            "mail -s \"50% off\" me",
            "tidy up",
            "quiet",
            "line 11: start-me",
            "line 12: never",
            "line 13",
            "line 14",
            "twice",
            "twice"
        ]
    );
    let first = job(&read[0]);
    assert_eq!(first["schedule"], json!({ "kind": "cron", "expr": "*/15 9-17 * * MON-FRI" }));
    assert_eq!(first["enabled"], false);
    assert!(!read[0].is_faithful && read[0].notes[0].contains("Disabled until"));
    assert_eq!(
        first["importedFrom"]["environment"],
        json!({ "API_KEY": null, "MAILTO": "me@example.org", "SHELL": "/bin/bash" })
    );
    assert!(read[0].notes[1].contains("API_KEY"));
    assert!(read[0].notes[2].starts_with("Nothing is mailed"), "MAILTO is not gone by");
    let mail = job(&read[1]);
    assert_eq!(mail["schedule"]["tz"], "America/New_York");
    let command = "printf '%s\\n' Hello '' Bye | (\n/bin/bash -c 'mail -s \"50% off\" me'\n)";
    assert_eq!(mail["payload"]["arguments"], json!({ "command": command, "cwd": "~/" }));
    let path = entries("PATH=/a b\n0 7 * * * x y\n").remove(0);
    assert_eq!(job(&path)["payload"]["arguments"]["command"], "export PATH='/a b'; x y");
    let home = entries("HOME=/srv/data\n0 7 * * * x\n").remove(0);
    let arguments = json!({ "command": "export HOME=/srv/data; x", "cwd": "/srv/data" });
    assert_eq!(job(&home)["payload"]["arguments"], arguments);
    let remark = entries("0 5 * * * cat # send%Hello\n").remove(0);
    let command = "printf '%s\\n' Hello | (\ncat # send\n)";
    assert_eq!(job(&remark)["payload"]["arguments"]["command"], command);
    assert_eq!(job(&read[2])["schedule"]["expr"], "@daily");
    assert!(read[3].notes[1].contains("both"), "{:?}", read[3].notes);
    assert!(read[4].job.as_ref().is_err_and(|reason| reason.contains("@reboot")));
    for broken in [5, 6, 7] {
        assert!(read[broken].job.is_err(), "{:?}", read[broken]);
    }
    let nothing = entries("0 7 * * * x\n0 5 * * * %Hello\n").remove(1);
    let expected = "expected a command before the %, found `0 5 * * * %Hello`";
    assert_eq!(nothing.job.as_ref().err().map(String::as_str), Some(expected));
    assert_ne!(job(&read[8])["id"], job(&read[9])["id"], "two lines are two jobs");
    assert!(!format!("{read:?}").contains("CANARY"));
}

#[test]
fn tz_applies_to_the_command_and_cron_tz_to_the_schedule() {
    let read = entries("TZ=Asia/Tokyo\n0 7 * * * a\nCRON_TZ=Europe/Berlin\n0 7 * * * a\n");
    let [alone, both] = read.try_into().expect("two");
    assert_eq!(job(&alone)["schedule"], json!({ "kind": "cron", "expr": "0 7 * * *" }));
    assert_eq!(job(&both)["schedule"]["tz"], "Europe/Berlin");
    for entry in [&alone, &both] {
        let arguments = &job(entry)["payload"]["arguments"];
        assert_eq!(arguments["command"], "export TZ=Asia/Tokyo; a");
    }
    let none = entries("CRON_TZ=UTC\nCRON_TZ=\n0 7 * * * a\n").remove(0);
    assert_eq!(job(&none)["schedule"], json!({ "kind": "cron", "expr": "0 7 * * *" }));
    let has_note = |entry: &ImportEntry| {
        entry.notes.iter().any(|note| note.starts_with("TZ=Asia/Tokyo reaches"))
    };
    assert!(has_note(&alone) && !has_note(&both), "{:?} {:?}", alone.notes, both.notes);
}

#[test]
fn crontab_line_keeps_its_id() {
    let ids = |text: &str| -> Vec<Value> {
        entries(text).iter().map(|entry| job(entry)["id"].clone()).collect()
    };
    let before = ids("0 7 * * * a\n0 8 * * * b\n");
    let after = ids("# new\n0 6 * * * c\n0 8  * * *   b\n");
    assert_eq!(before[1], after[1]);
    assert_ne!(before[0], after[0]);
    assert_ne!(ids("CRON_TZ=UTC\n0 7 * * * a")[0], before[0], "another zone is another job");
}

/// For any file, the answer is entries or an error.
#[test]
fn any_text_is_imported_or_refused() {
    for text in [
        "%",
        "= =",
        "@",
        "@ x",
        "-",
        "* * * * *",
        "\u{3000}0 7 * * * ü%ö\\%\\",
        "a=b=c\n=",
        "\"A\"=1",
    ] {
        drop(read(text, Some(ImportFormat::Crontab)));
        drop(read(text, None));
    }
}

fn command(entry: &ImportEntry) -> &str {
    job(entry)["payload"]["arguments"]["command"].as_str().expect("a command")
}

/// `/etc/crontab` of Debian 12, with the original tabs.
const DEBIAN: &str = "# /etc/crontab: system-wide crontab
# Unlike any other crontab you don't have to run the `crontab'
# command to install the new version when you edit this file
# and files in /etc/cron.d. These files also have username fields,
# that none of the other crontabs do.

SHELL=/bin/sh
PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin

# Example of job definition:
# .---------------- minute (0 - 59)
# |  .------------- hour (0 - 23)
# |  |  .---------- day of month (1 - 31)
# |  |  |  .------- month (1 - 12) OR jan,feb,mar,apr ...
# |  |  |  |  .---- day of week (0 - 6) (Sunday=0 or 7) OR sun,mon,tue,wed,thu,fri,sat
# |  |  |  |  |
# *  *  *  *  * user-name command to be executed
17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly
25 6\t* * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
#
";

#[test]
fn debian_system_crontab_is_read_without_its_users() {
    let read = read(DEBIAN, None).expect("a crontab");
    assert_eq!(read.format, ImportFormat::SystemCrontab);
    let [hourly, daily] = &read.entries[..] else { panic!("two jobs: {read:?}") };
    assert_eq!(hourly.name, "cd / && run-parts --report /etc/cron.hourly");
    assert_eq!(job(hourly)["schedule"]["expr"], "17 * * * *");
    assert!(command(hourly).ends_with("; cd / && run-parts --report /etc/cron.hourly"));
    assert!(command(daily).contains("; test -x /usr/sbin/anacron ||"), "{}", command(daily));
    for entry in [hourly, daily] {
        let note = "The file runs the command as `root`; Rouse runs it as you.";
        assert_eq!(entry.notes.last().map(String::as_str), Some(note));
        let job = imported_job_from_json(job(entry).clone(), UnixMs(0), chrono_tz::UTC);
        assert!(job.is_ok(), "{job:?}");
    }
}

#[test]
fn user_column_comes_from_heading_or_format_alone() {
    let heading = "# m h dom mon dow user\tcommand\n5 4 * * * ada /home/ada/bin/tidy\n";
    assert_eq!(command(&entries(heading)[0]), "/home/ada/bin/tidy");
    let line = "@daily\twww-data\t/usr/bin/php /srv/tidy.php\n0 7 * * * root\n";
    let system = read(line, Some(ImportFormat::SystemCrontab)).expect("a crontab").entries;
    assert_eq!(command(&system[0]), "/usr/bin/php /srv/tidy.php");
    let reason = "expected five fields, a user and a command, found `0 7 * * * root`";
    assert_eq!(system[1].job.as_ref().err().map(String::as_str), Some(reason));
    for (line, whole) in [
        ("0 7 * * * mail -s Hello me < /tmp/a", "mail -s Hello me < /tmp/a"),
        ("0 7 * * * mysql -u root tidy", "mysql -u root tidy"),
        ("0 7 * * * root", "root"),
        ("# m h dom mon dow command\n0 7 * * * backup now", "backup now"),
    ] {
        let entry = entries(line).remove(0);
        assert_eq!(command(&entry), whole);
        assert!(
            !entry.notes.iter().any(|note| note.contains("The file runs the command")),
            "{entry:?}"
        );
    }
}

#[test]
fn command_with_tab_gets_a_name_in_one_line() {
    let entry = entries("0 7 * * * sort -t'\t'  -k2\t/srv/a\n").remove(0);
    assert_eq!(entry.name, "sort -t' ' -k2 /srv/a");
    assert_eq!(command(&entry), "sort -t'\t'  -k2\t/srv/a");
    assert!(imported_job_from_json(job(&entry).clone(), UnixMs(0), chrono_tz::UTC).is_ok());
}

#[test]
fn comment_above_a_command_names_its_job() {
    let names =
        |text: &str| -> Vec<String> { entries(text).into_iter().map(|entry| entry.name).collect() };
    for (text, name) in [
        ("# Back up the notes:\n0 7 * * * x\n", "Back up the notes"),
        ("## Gr\u{fc}\u{df}e an alle.\n# jeden Morgen\n0 7 * * * x\n", "Gr\u{fc}\u{df}e an alle"),
        ("# 0 6 * * * old\n# Weekly report\n0 7 * * * x\n", "Weekly report"),
        ("# Far above\n\n0 7 * * * x\n", "x"),
        ("# The mail\nMAILTO=me\n0 7 * * * x\n", "x"),
        ("# MAILTO=me\n0 7 * * * x\n", "x"),
        ("# @daily old\n0 7 * * * x\n", "x"),
        ("# ----\n#\n0 7 * * * x\n", "x"),
        ("# m h  dom mon dow   command\n0 7 * * * x\n", "x"),
        ("# A\n# long\n# text\n# about the file\n0 7 * * * x\n", "x"),
    ] {
        assert_eq!(names(text), [name], "{text}");
    }
    assert_eq!(names("# Back up\n0 7 * * * x\n0 8 * * * y\n"), ["Back up", "y"]);
}
