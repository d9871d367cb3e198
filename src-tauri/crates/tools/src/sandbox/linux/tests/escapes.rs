//! Escapes through files, processes, the environment and privileges.

use super::*;

fn own_home() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()))
}

#[tokio::test]
async fn workspace_is_visible_and_writable() {
    let fixture = SandboxFixture::new();
    std::fs::write(fixture.folder.path().join("in.txt"), "from outside").expect("written");
    std::fs::create_dir(fixture.folder.path().join("sub")).expect("made");
    let Some(output) =
        fixture.output_of("pwd -P; cat in.txt; echo inside > sub/out.txt; id -u").await
    else {
        return;
    };
    let expected = format!(
        "{}\nfrom outside{}",
        fixture.sandbox.workspace.display(),
        rustix::process::geteuid().as_raw()
    );
    assert_eq!(output, expected);
    let written = std::fs::read_to_string(fixture.folder.path().join("sub/out.txt"));
    assert_eq!(written.expect("there"), "inside\n");
}

#[tokio::test]
async fn write_outside_the_workspace_fails() {
    let outside = tempfile::tempdir().expect("a folder");
    let fixture = SandboxFixture::new();
    std::os::unix::fs::symlink(outside.path(), fixture.folder.path().join("out")).expect("linked");
    let line = "for at in /rouse-x /usr/rouse-x /usr/bin/rouse-x /etc/rouse-x /var/rouse-x /run/rouse-x /dev/rouse-x \
        /proc/sys/kernel/hostname /proc/sys/kernel/core_pattern /proc/sysrq-trigger out/rouse-x /old/x; do \
        (echo x > $at) 2>/dev/null && echo $at; done; (mv /usr/bin/env /usr/bin/rouse-x) 2>/dev/null && echo moved; :";
    let Some(output) = fixture.output_of(line).await else { return };
    assert_eq!(output, "");
    // The workspace's parent exists inside, but is not the outside folder.
    let beside = format!("rouse-beside-{}", std::process::id());
    let above = fixture.run(&format!("echo x > ../{beside}")).await;
    assert!(above.is_some() && !fixture.sandbox.workspace.with_file_name(beside).exists());
    assert_eq!(std::fs::read_dir(outside.path()).expect("there").count(), 0);
    assert!(!Path::new("/usr/bin/rouse-x").exists());
}

#[tokio::test]
async fn link_does_not_lead_outside() {
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("secret"), "a key").expect("written");
    let fixture = SandboxFixture::new();
    let link = fixture.folder.path().join("link");
    std::os::unix::fs::symlink(outside.path().join("secret"), &link).expect("linked");
    let path = outside.path().display();
    let line = format!(
        "cat link; cat '{path}/secret'; cat '/proc/1/root{path}/secret'; cat '/proc/self/root{path}/secret'; \
        cat '/old{path}/secret'; ln -s '{path}/secret' other; cat other; cat /etc/shadow; cat ../*/secret"
    );
    let Some(output) = fixture.failure_of(&line).await else { return };
    assert!(!output.contains("a key"), "{output}");
    assert_eq!(
        output.matches("No such file").count() + output.matches("ermission denied").count(),
        8,
        "{output}"
    );
}

#[tokio::test]
async fn system_sockets_and_keys_are_absent() {
    let fixture = SandboxFixture::new();
    let Some(output) = fixture.output_of("ls -A /run /var; ls -d /sys /home /root/* /mnt /srv 2>/dev/null; ls /etc/shadow /etc/ssl/private /etc/sudoers 2>/dev/null; :").await else { return };
    let seen: Vec<&str> = output.lines().filter(|line| !line.is_empty()).collect();
    let own: &[&str] = &["/run:", "/var:", "tmp", "current-system"];
    let foreign: Vec<_> = seen.iter().filter(|line| !own.contains(*line)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[tokio::test]
async fn rouse_data_is_hidden_even_in_the_workspace() {
    let mut fixture = SandboxFixture::new();
    let data = fixture.folder.path().join("data");
    std::fs::create_dir(&data).expect("made");
    std::fs::write(data.join("gateway.token"), "a token").expect("written");
    fixture.sandbox.hidden = vec![data.clone()];
    let Some(output) = fixture.output_of("ls -A data; cat data/gateway.token 2>/dev/null; (echo x > data/gateway.token) 2>/dev/null; rm -rf data 2>/dev/null; :").await else { return };
    assert_eq!(output, "");
    assert_eq!(std::fs::read_to_string(data.join("gateway.token")).expect("there"), "a token");
    // The common case: a workspace inside the data directory.
    let mut fixture = SandboxFixture::new();
    let token = fixture.folder.path().join("gateway.token");
    std::fs::write(&token, "a token").expect("written");
    std::fs::create_dir(fixture.folder.path().join("workspace")).expect("made");
    let data = vec![fixture.folder.path().to_owned()];
    fixture.sandbox = Sandbox {
        hidden: data,
        ..Sandbox::new(&fixture.folder.path().join("workspace"), &[], None).expect("a fixture")
    };
    let Some(output) = fixture.failure_of(&format!("ls -A ..; cat '{}'", token.display())).await
    else {
        return;
    };
    assert!(!output.contains("a token") && output.starts_with("workspace\n"), "{output}");
}

#[tokio::test]
async fn other_processes_are_invisible() {
    let fixture = SandboxFixture::new();
    let Some(output) = fixture
        .output_of(
            "for p in /proc/[0-9]*; do echo ${p#/proc/}; done; kill -0 1 && echo signalled; :",
        )
        .await
    else {
        return;
    };
    let numbers: Vec<u32> = output.lines().filter_map(|line| line.parse().ok()).collect();
    assert!(
        !numbers.is_empty() && numbers.len() <= 3 && numbers.iter().all(|number| *number < 10),
        "{output}"
    );
    let peeks = "cd /proc/1; for f in environ mem maps fd/0; do cat $f 2>/dev/null && echo $f; done; \
        for f in fd/0 cwd root exe; do readlink $f; done; ls root/ cwd/ 2>/dev/null; :";
    let Some(output) = fixture.output_of(peeks).await else { return };
    assert_eq!(output, "", "the first process holds a copy of the engine's memory");
}

#[tokio::test]
async fn environment_is_the_given_list() {
    let fixture = SandboxFixture::new();
    let Some(output) = fixture.output_of("env").await else { return };
    let mut names: Vec<&str> =
        output.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    // Added by the shell.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["HOME", "PATH", "ROUSE_RUN"]);
}

#[tokio::test]
async fn privileges_cannot_be_gained() {
    let fixture = SandboxFixture::new();
    let Some(output) =
        fixture.output_of("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status").await
    else {
        return;
    };
    let fields: Vec<(&str, &str)> =
        output.lines().filter_map(|line| line.split_once(":\t")).collect();
    for (name, value) in &fields {
        let expected = match *name {
            "NoNewPrivs" => "1",
            "Seccomp" => "2",
            _ => "0000000000000000",
        };
        assert_eq!(*value, expected, "{name}");
    }
    assert_eq!(fields.len(), 7);
    // A set-user-id program keeps the user, because every mount is nosuid.
    let Some(mounts) = fixture.output_of("cat /proc/self/mountinfo").await else { return };
    let flags = |line: &str| line.split(' ').nth(5).map(str::to_owned).expect("flags");
    let writable: Vec<&str> = mounts.lines().filter(|line| flags(line).starts_with("rw")).collect();
    let honours = |line: &&str| !flags(line).contains("nosuid");
    assert!(!mounts.lines().any(|line| honours(&line)), "{mounts}");
    let at = |line: &&str| line.split(' ').nth(4).map(str::to_owned).expect("a place");
    let places: Vec<String> = writable.iter().map(at).collect();
    let mut expected: Vec<String> =
        ["/tmp", "/dev/shm", &fixture.sandbox.workspace.display().to_string()]
            .map(str::to_owned)
            .into();
    expected.extend(DEVICE_FILES.map(str::to_owned));
    assert!(places.iter().all(|place| expected.contains(place)), "{places:?}");
}

const DEVICE_FILES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

#[test]
fn workspace_with_more_than_a_project_is_refused() {
    let refused = |workspace: &Path, hidden: Vec<PathBuf>| {
        let sandbox = Sandbox { hidden, ..Sandbox::new(workspace, &[], None).expect("a fixture") };
        match shell_command(&sandbox, "true") {
            Err(error @ SandboxError::Workspace { .. }) => error.to_string(),
            other => panic!("{:?}", other.map(|_| ())),
        }
    };
    for whole in ["/", "/usr", "/etc", "/dev", "/proc", "/tmp", "/var"] {
        assert!(refused(Path::new(whole), Vec::new()).contains("Nothing was run"), "{whole}");
    }
    let fixture = SandboxFixture::new();
    let data = vec![fixture.folder.path().to_owned()];
    assert!(refused(fixture.folder.path(), data).contains("Rouse's own data"));
    if own_home().is_dir() && own_home() != Path::new("/") {
        assert!(refused(&own_home(), Vec::new()).contains("home"));
    }
}

#[test]
fn working_directory_outside_is_refused() {
    let fixture = SandboxFixture::new();
    let at = |cwd: &str| Sandbox::new(fixture.folder.path(), &[], Some(cwd));
    for cwd in ["..", "/", "/usr", "nowhere", "sub/../.."] {
        assert!(matches!(at(cwd), Err(SandboxError::Folder { .. })), "{cwd}");
    }
    std::fs::create_dir(fixture.folder.path().join("sub")).expect("made");
    assert!(at("sub").is_ok() && at("./sub/../sub").is_ok());
    std::os::unix::fs::symlink("/usr", fixture.folder.path().join("link")).expect("linked");
    assert!(matches!(at("link"), Err(SandboxError::Folder { .. })));
}

#[tokio::test]
async fn engine_descriptors_are_not_inherited() {
    let secret = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(secret.path(), "a key").expect("written");
    let file = std::fs::File::open(secret.path()).expect("opened");
    // A descriptor without close-on-exec.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).expect("set");
    let fixture = SandboxFixture::new();
    let line =
        "ls /proc/self/fd; n=3; while [ $n -lt 10 ]; do (cat <&$n) 2>/dev/null; n=$((n+1)); done";
    let Some(completed) = fixture.run(line).await else { return };
    // The fourth is the folder that `ls` reads.
    assert_eq!(completed.stdout.text(), "0\n1\n2\n3\n");
}

#[tokio::test]
async fn signal_does_not_reach_outside() {
    let fixture = SandboxFixture::new();
    let mut outside = Command::new("sleep").arg("1000").spawn().expect("begun");
    let number = outside.id();
    let engine = std::process::id();
    let line = format!(
        "kill -KILL {number}; kill -KILL {engine}; kill -KILL -{number}; trap '' TERM; kill -TERM -1; echo sent; kill -KILL 0"
    );
    let completed = fixture.run(&line).await;
    let left_alone = outside.try_wait().expect("asked").is_none();
    outside.kill().and_then(|()| outside.wait()).expect("ended");
    assert!(left_alone);
    let Some(completed) = completed else { return };
    assert_eq!(completed.stdout.text(), "sent\n", "{completed:?}");
}

#[tokio::test]
async fn desktop_privileges_are_not_granted() {
    let fixture = SandboxFixture::new();
    let Some(output) = fixture.output_of("cat /proc/self/limits").await else { return };
    let limit = |name: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        line.split_whitespace().nth(1).map(str::to_owned).expect("a limit")
    };
    // A limit of 1 byte also prevents a crash handler started by a pipe.
    assert!(["0", "1"].contains(&limit("Max core file size").as_str()), "{output}");
    for (name, most) in [
        ("Max locked memory", 64 << 10),
        ("Max realtime priority", 0),
        ("Max nice priority", 0),
        ("Max data size", crate::sandbox::Limits::default().memory_bytes),
    ] {
        assert!(limit(name).parse::<u64>().is_ok_and(|value| value <= most), "{name}: {output}");
    }
}

/// Typical commands of job scripts, and the installed programs that inspect their surroundings most.
#[tokio::test]
async fn ordinary_commands_work() {
    let fixture = SandboxFixture::new();
    let line = "set -e; f=$(mktemp); printf 'b\\na\\n' | sort > $f; sed -i 's/a/A/' $f; cp -p $f list; chmod 600 list; \
        mv list sub.txt; mkdir -p deep/er; ln sub.txt deep/er/hard; ln -s ../sub.txt deep/soft; cat deep/soft; \
        cat <<END | tr a-z A-Z\nheredoc\nEND\n\
        (exit 3) & wait $! || echo waited; TZ=Europe/Berlin date +%Z > /dev/null; test -n \"$(ls -A)\"; head -c 4 /dev/urandom > /dev/null; \
        mkfifo pipe; (echo piped > pipe) & cat pipe; rm -r deep; \
        if command -v python3 >/dev/null; then python3 -c 'import socket, tempfile, threading, multiprocessing as m; s = socket.create_server((\"127.0.0.1\", 0)); \
        c = socket.create_connection(s.getsockname()); t = threading.Thread(target=s.accept); t.start(); t.join(); m.Lock(); tempfile.mkdtemp()'; fi; \
        if command -v git >/dev/null; then git init -q repo; cd repo; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x; git gc -q; cd ..; fi; \
        if command -v gcc >/dev/null; then echo 'int main(){return 0;}' > x.c; gcc -o x x.c; ./x; fi; \
        if command -v node >/dev/null; then node -e 'new (require(\"worker_threads\").Worker)(\"0\", {eval: true})'; fi";
    let Some(output) = fixture.output_of(line).await else { return };
    assert_eq!(output, "A\nb\nHEREDOC\nwaited\npiped");
}
