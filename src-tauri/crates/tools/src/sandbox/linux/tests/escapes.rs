//! The disk, the other processes, the environment, and the rights.

use super::*;

fn own_home() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()))
}

#[tokio::test]
async fn the_workspace_is_what_it_was_and_can_be_written() {
    let room = Room::new();
    std::fs::write(room.folder.path().join("in.txt"), "from outside").expect("written");
    std::fs::create_dir(room.folder.path().join("sub")).expect("made");
    let Some(said) = room.says("pwd -P; cat in.txt; echo inside > sub/out.txt; id -u").await else {
        return;
    };
    let expected = format!(
        "{}\nfrom outside{}",
        room.sandbox.workspace.display(),
        rustix::process::geteuid().as_raw()
    );
    assert_eq!(said, expected);
    let written = std::fs::read_to_string(room.folder.path().join("sub/out.txt"));
    assert_eq!(written.expect("there"), "inside\n");
}

#[tokio::test]
async fn nothing_outside_the_workspace_can_be_written() {
    let outside = tempfile::tempdir().expect("a folder");
    let room = Room::new();
    std::os::unix::fs::symlink(outside.path(), room.folder.path().join("out")).expect("linked");
    let line = "for at in /rouse-x /usr/rouse-x /usr/bin/rouse-x /etc/rouse-x /var/rouse-x /run/rouse-x /dev/rouse-x \
        /proc/sys/kernel/hostname /proc/sys/kernel/core_pattern /proc/sysrq-trigger out/rouse-x /old/x; do \
        (echo x > $at) 2>/dev/null && echo $at; done; (mv /usr/bin/env /usr/bin/rouse-x) 2>/dev/null && echo moved; :";
    let Some(said) = room.says(line).await else { return };
    assert_eq!(said, "");
    // Above the workspace there is a folder, but not the one that is there outside.
    let beside = format!("rouse-beside-{}", std::process::id());
    let above = room.run(&format!("echo x > ../{beside}")).await;
    assert!(above.is_some() && !room.sandbox.workspace.with_file_name(beside).exists());
    assert_eq!(std::fs::read_dir(outside.path()).expect("there").count(), 0);
    assert!(!Path::new("/usr/bin/rouse-x").exists());
}

#[tokio::test]
async fn a_link_leads_nowhere_outside() {
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("secret"), "a key").expect("written");
    let room = Room::new();
    let link = room.folder.path().join("link");
    std::os::unix::fs::symlink(outside.path().join("secret"), &link).expect("linked");
    let path = outside.path().display();
    let line = format!(
        "cat link; cat '{path}/secret'; cat '/proc/1/root{path}/secret'; cat '/proc/self/root{path}/secret'; \
        cat '/old{path}/secret'; ln -s '{path}/secret' other; cat other; cat /etc/shadow; cat ../*/secret"
    );
    let Some(said) = room.fails(&line).await else { return };
    assert!(!said.contains("a key"), "{said}");
    assert_eq!(
        said.matches("No such file").count() + said.matches("ermission denied").count(),
        8,
        "{said}"
    );
}

#[tokio::test]
async fn sockets_and_keys_of_the_system_are_not_there() {
    let room = Room::new();
    let Some(said) = room.says("ls -A /run /var; ls -d /sys /home /root/* /mnt /srv 2>/dev/null; ls /etc/shadow /etc/ssl/private /etc/sudoers 2>/dev/null; :").await else { return };
    let seen: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
    let own: &[&str] = &["/run:", "/var:", "tmp", "current-system"];
    let foreign: Vec<_> = seen.iter().filter(|line| !own.contains(*line)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[tokio::test]
async fn rouses_own_data_is_hidden_even_in_the_workspace() {
    let mut room = Room::new();
    let data = room.folder.path().join("data");
    std::fs::create_dir(&data).expect("made");
    std::fs::write(data.join("gateway.token"), "a token").expect("written");
    room.sandbox.hidden = vec![data.clone()];
    let Some(said) = room.says("ls -A data; cat data/gateway.token 2>/dev/null; (echo x > data/gateway.token) 2>/dev/null; rm -rf data 2>/dev/null; :").await else { return };
    assert_eq!(said, "");
    assert_eq!(std::fs::read_to_string(data.join("gateway.token")).expect("there"), "a token");
    // And around it: the usual case, a workspace inside the data.
    let mut room = Room::new();
    let token = room.folder.path().join("gateway.token");
    std::fs::write(&token, "a token").expect("written");
    std::fs::create_dir(room.folder.path().join("workspace")).expect("made");
    let data = vec![room.folder.path().to_owned()];
    room.sandbox = Sandbox {
        hidden: data,
        ..Sandbox::new(&room.folder.path().join("workspace"), &[], None).expect("a room")
    };
    let Some(said) = room.fails(&format!("ls -A ..; cat '{}'", token.display())).await else {
        return;
    };
    assert!(!said.contains("a token") && said.starts_with("workspace\n"), "{said}");
}

#[tokio::test]
async fn other_processes_are_not_seen() {
    let room = Room::new();
    let Some(said) = room
        .says("for p in /proc/[0-9]*; do echo ${p#/proc/}; done; kill -0 1 && echo signalled; :")
        .await
    else {
        return;
    };
    let numbers: Vec<u32> = said.lines().filter_map(|line| line.parse().ok()).collect();
    assert!(
        !numbers.is_empty() && numbers.len() <= 3 && numbers.iter().all(|number| *number < 10),
        "{said}"
    );
    let peeks = "cd /proc/1; for f in environ mem maps fd/0; do cat $f 2>/dev/null && echo $f; done; \
        for f in fd/0 cwd root exe; do readlink $f; done; ls root/ cwd/ 2>/dev/null; :";
    let Some(said) = room.says(peeks).await else { return };
    assert_eq!(said, "", "the first process holds a copy of the engine's memory");
}

#[tokio::test]
async fn the_environment_is_the_list() {
    let room = Room::new();
    let Some(said) = room.says("env").await else { return };
    let mut names: Vec<&str> =
        said.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    // The shell adds its own.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["HOME", "PATH", "ROUSE_RUN"]);
}

#[tokio::test]
async fn there_are_no_rights_to_gain() {
    let room = Room::new();
    let Some(said) = room.says("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status").await
    else {
        return;
    };
    let fields: Vec<(&str, &str)> =
        said.lines().filter_map(|line| line.split_once(":\t")).collect();
    for (name, value) in &fields {
        let expected = match *name {
            "NoNewPrivs" => "1",
            "Seccomp" => "2",
            _ => "0000000000000000",
        };
        assert_eq!(*value, expected, "{name}");
    }
    assert_eq!(fields.len(), 7);
    // A program that would be another user outside stays who it is: no mount honours the bit.
    let Some(mounts) = room.says("cat /proc/self/mountinfo").await else { return };
    let flags = |line: &str| line.split(' ').nth(5).map(str::to_owned).expect("flags");
    let writable: Vec<&str> = mounts.lines().filter(|line| flags(line).starts_with("rw")).collect();
    let honours = |line: &&str| !flags(line).contains("nosuid");
    assert!(!mounts.lines().any(|line| honours(&line)), "{mounts}");
    let at = |line: &&str| line.split(' ').nth(4).map(str::to_owned).expect("a place");
    let places: Vec<String> = writable.iter().map(at).collect();
    let mut expected: Vec<String> =
        ["/tmp", "/dev/shm", &room.sandbox.workspace.display().to_string()]
            .map(str::to_owned)
            .into();
    expected.extend(DEVICE_FILES.map(str::to_owned));
    assert!(places.iter().all(|place| expected.contains(place)), "{places:?}");
}

const DEVICE_FILES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

#[test]
fn a_folder_that_is_not_the_workspaces_alone_is_refused() {
    let refused = |workspace: &Path, hidden: Vec<PathBuf>| {
        let sandbox = Sandbox { hidden, ..Sandbox::new(workspace, &[], None).expect("a room") };
        match shell(&sandbox, "true") {
            Err(error @ SandboxError::Workspace { .. }) => error.to_string(),
            other => panic!("{:?}", other.map(|_| ())),
        }
    };
    for whole in ["/", "/usr", "/etc", "/dev", "/proc", "/tmp", "/var"] {
        assert!(refused(Path::new(whole), Vec::new()).contains("Nothing was run"), "{whole}");
    }
    let room = Room::new();
    let data = vec![room.folder.path().to_owned()];
    assert!(refused(room.folder.path(), data).contains("Rouse's own data"));
    if own_home().is_dir() && own_home() != Path::new("/") {
        assert!(refused(&own_home(), Vec::new()).contains("home"));
    }
}

#[test]
fn a_command_begins_in_the_workspace_or_not_at_all() {
    let room = Room::new();
    let at = |cwd: &str| Sandbox::new(room.folder.path(), &[], Some(cwd));
    for cwd in ["..", "/", "/usr", "nowhere", "sub/../.."] {
        assert!(matches!(at(cwd), Err(SandboxError::Folder { .. })), "{cwd}");
    }
    std::fs::create_dir(room.folder.path().join("sub")).expect("made");
    assert!(at("sub").is_ok() && at("./sub/../sub").is_ok());
    std::os::unix::fs::symlink("/usr", room.folder.path().join("link")).expect("linked");
    assert!(matches!(at("link"), Err(SandboxError::Folder { .. })));
}

#[tokio::test]
async fn no_file_of_the_engine_is_inherited() {
    let secret = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(secret.path(), "a key").expect("written");
    let file = std::fs::File::open(secret.path()).expect("opened");
    // One that somebody forgot to close at a beginning.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).expect("set");
    let room = Room::new();
    let line =
        "ls /proc/self/fd; n=3; while [ $n -lt 10 ]; do (cat <&$n) 2>/dev/null; n=$((n+1)); done";
    let Some(finished) = room.run(line).await else { return };
    // The fourth is the folder that `ls` reads.
    assert_eq!(finished.stdout.text(), "0\n1\n2\n3\n");
}

#[tokio::test]
async fn no_signal_reaches_outside() {
    let room = Room::new();
    let mut outside = Command::new("sleep").arg("1000").spawn().expect("begun");
    let number = outside.id();
    let engine = std::process::id();
    let line = format!(
        "kill -KILL {number}; kill -KILL {engine}; kill -KILL -{number}; trap '' TERM; kill -TERM -1; echo sent; kill -KILL 0"
    );
    let finished = room.run(&line).await;
    let left_alone = outside.try_wait().expect("asked").is_none();
    outside.kill().and_then(|()| outside.wait()).expect("ended");
    assert!(left_alone);
    let Some(finished) = finished else { return };
    assert_eq!(finished.stdout.text(), "sent\n", "{finished:?}");
}

#[tokio::test]
async fn what_a_desktop_grants_its_programs_is_not_granted_inside() {
    let room = Room::new();
    let Some(said) = room.says("cat /proc/self/limits").await else { return };
    let limit = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        line.split_whitespace().nth(1).map(str::to_owned).expect("a limit")
    };
    // One byte: a program that is told of crashes by a pipe is then not started at all.
    assert!(["0", "1"].contains(&limit("Max core file size").as_str()), "{said}");
    for (name, most) in [
        ("Max locked memory", 64 << 10),
        ("Max realtime priority", 0),
        ("Max nice priority", 0),
        ("Max data size", Limits::default().memory_bytes),
    ] {
        assert!(limit(name).parse::<u64>().is_ok_and(|told| told <= most), "{name}: {said}");
    }
}

/// What a job's script is made of, and where they are installed the programs that look around most.
#[tokio::test]
async fn ordinary_work_is_not_hindered() {
    let room = Room::new();
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
    let Some(said) = room.says(line).await else { return };
    assert_eq!(said, "A\nb\nHEREDOC\nwaited\npiped");
}
