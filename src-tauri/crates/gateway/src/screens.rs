//! Screens: programs that show this engine's notifications on the desktop they run on.
//!
//! A client becomes a screen by the way it opens its socket, and is one as long as that socket lives. A notification is
//! shown by one screen, and counts as shown only when that screen says so, under a key that nobody else was told: a
//! message that was sent is not one that was seen. Nothing is kept for later; what was not shown goes back to who asked.
//! One could get this wrong by waiting for ever for a program that has stopped answering.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::delivery::Delivery;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::events::EventBus;
use crate::wire::{ShowAnswer, ShowOutcome, ShowRequest};

/// How long a screen may take. A desktop may have to start its notification server first.
const ANSWER_FOR: Duration = Duration::from_secs(20);

/// Why a notification was not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotShown {
    /// There is nobody to show it.
    #[error("No desktop app is attached.")]
    NoScreen,
    /// The screen ended, or its connection did, before it had answered.
    #[error("The desktop app went away before it had shown this.")]
    Gone,
    /// The screen did not answer in time.
    #[error("The desktop app did not answer.")]
    Silent,
    /// The screen could not show it now.
    #[error("{0}")]
    NotNow(String),
    /// The screen will never be able to.
    #[error("{0}")]
    Never(String),
}

/// The screens that are attached. Cheap to clone.
#[derive(Clone)]
pub struct Screens {
    desk: Arc<Mutex<Desk>>,
    events: EventBus,
    answer_for: Duration,
}

/// Who is there, and who was asked what.
#[derive(Default)]
struct Desk {
    /// The last one is asked next.
    screens: Vec<Attached>,
    questions: HashMap<String, Question>,
    last_id: u64,
}

struct Attached {
    id: u64,
    requests: mpsc::Sender<ShowRequest>,
}

struct Question {
    screen: u64,
    answer: oneshot::Sender<Result<(), NotShown>>,
}

/// A screen's end of the line; the screen is attached until this is dropped.
pub(crate) struct Screen {
    id: u64,
    requests: mpsc::Receiver<ShowRequest>,
    screens: Screens,
}

impl Screens {
    /// Nobody is attached; who comes and goes is told through `events`.
    #[must_use]
    pub fn new(events: EventBus) -> Self {
        Self { desk: Arc::default(), events, answer_for: ANSWER_FOR }
    }

    /// Shows `delivery` on one screen.
    ///
    /// # Errors
    /// Unless that screen said that it has shown it.
    pub async fn show(&self, delivery: &Delivery) -> Result<(), NotShown> {
        let (key, screen, answer) = self.desk().ask(delivery)?;
        let outcome = match tokio::time::timeout(self.answer_for, answer).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(NotShown::Gone),
            Err(_) => Err(NotShown::Silent),
        };
        if outcome.is_err() {
            let mut desk = self.desk();
            desk.questions.remove(&key);
            desk.put_last(screen);
        }
        outcome
    }

    /// Whether anybody is attached.
    pub(crate) fn is_any(&self) -> bool {
        !self.desk().screens.is_empty()
    }

    /// One more screen; it is asked before those that were there.
    pub(crate) fn attach(&self) -> Screen {
        // One place: requests do not pile up before a screen that has stopped reading.
        let (ask, requests) = mpsc::channel(1);
        let id = self.desk().add(ask);
        self.tell();
        Screen { id, requests, screens: self.clone() }
    }

    /// Takes a screen's answer; false when nobody waits for it any more.
    pub(crate) fn answer(&self, answer: ShowAnswer) -> bool {
        let Some(question) = self.desk().questions.remove(&answer.key) else { return false };
        let reason = answer.reason.unwrap_or_default();
        let outcome = match answer.outcome {
            ShowOutcome::Shown => Ok(()),
            ShowOutcome::NotNow => Err(NotShown::NotNow(reason)),
            ShowOutcome::Never => Err(NotShown::Never(reason)),
        };
        question.answer.send(outcome).is_ok()
    }

    fn tell(&self) {
        let count = self.desk().screens.len();
        self.events.publish_screens(count);
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Asked = (String, u64, oneshot::Receiver<Result<(), NotShown>>);

impl Desk {
    fn add(&mut self, requests: mpsc::Sender<ShowRequest>) -> u64 {
        self.last_id += 1;
        self.screens.push(Attached { id: self.last_id, requests });
        self.last_id
    }

    fn ask(&mut self, delivery: &Delivery) -> Result<Asked, NotShown> {
        let Attached { id: screen, requests } = self.screens.last().ok_or(NotShown::NoScreen)?;
        let (screen, key) = (*screen, Uuid::new_v4().simple().to_string());
        if requests.try_send(request(&key, delivery)).is_err() {
            // It has not even taken the one before.
            self.put_last(screen);
            return Err(NotShown::Silent);
        }
        let (answer, answered) = oneshot::channel();
        self.questions.insert(key.clone(), Question { screen, answer });
        Ok((key, screen, answered))
    }

    /// A screen that failed is asked after the others from now on.
    fn put_last(&mut self, screen: u64) {
        if let Some(at) = self.screens.iter().position(|attached| attached.id == screen) {
            self.screens[..=at].rotate_right(1);
        }
    }

    /// Whoever waits for an answer of this screen hears that none will come.
    fn remove(&mut self, screen: u64) {
        self.screens.retain(|attached| attached.id != screen);
        self.questions.retain(|_, question| question.screen != screen);
    }
}

fn request(key: &str, delivery: &Delivery) -> ShowRequest {
    ShowRequest {
        key: key.to_owned(),
        delivery_id: delivery.id.to_string(),
        run_id: delivery.run_id.as_ref().map(ToString::to_string),
        title: delivery.title.clone(),
        body: delivery.body.clone(),
    }
}

impl Screen {
    /// The next notification to show; one that nobody waits for any more is left out.
    pub(crate) async fn next(&mut self) -> Option<ShowRequest> {
        loop {
            let request = self.requests.recv().await?;
            if self.screens.desk().questions.contains_key(&request.key) {
                return Some(request);
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.screens.desk().remove(self.id);
        self.screens.tell();
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::delivery::{Channel, DeliveryState};
    use rouse_core::{DeliveryId, RunId, UnixMs};

    use super::*;

    fn screens() -> Screens {
        Screens::new(EventBus::default())
    }

    fn delivery() -> Delivery {
        Delivery {
            id: DeliveryId::new("d1"),
            run_id: Some(RunId::new("r1")),
            channel: Channel::Notification,
            to: None,
            title: "Backup".to_owned(),
            body: "Done.".to_owned(),
            state: DeliveryState::Pending,
            attempts: 0,
            reason: None,
            created_at: UnixMs(0),
            next_attempt_at: None,
            settled_at: None,
            quiet_hours: rouse_core::quiet::QuietPolicy::Respect,
            held_until: None,
            digest: None,
        }
    }

    fn answer(key: &str, outcome: ShowOutcome) -> ShowAnswer {
        let reason = (outcome != ShowOutcome::Shown).then(|| "No server.".to_owned());
        ShowAnswer { key: key.to_owned(), outcome, reason }
    }

    /// Has `screen` asked; answers what to show and how to hear what came of it.
    async fn asked(
        screens: &Screens,
        screen: &mut Screen,
    ) -> (ShowRequest, tokio::task::JoinHandle<Result<(), NotShown>>) {
        let all = screens.clone();
        let waiting = tokio::spawn(async move { all.show(&delivery()).await });
        (screen.next().await.expect("it is attached"), waiting)
    }

    #[tokio::test]
    async fn nobody_there_is_said() {
        let screens = screens();
        assert_eq!(screens.show(&delivery()).await, Err(NotShown::NoScreen));
        drop(screens.attach());
        assert_eq!(screens.show(&delivery()).await, Err(NotShown::NoScreen));
        assert!(!screens.is_any());
    }

    #[tokio::test]
    async fn it_counts_as_shown_only_once_the_screen_says_so() {
        let screens = screens();
        let mut screen = screens.attach();
        let (request, waiting) = asked(&screens, &mut screen).await;
        assert_eq!((request.delivery_id.as_str(), request.run_id.as_deref()), ("d1", Some("r1")));
        assert!(!screens.answer(answer("d1", ShowOutcome::Shown)), "its id is no key");
        assert!(!waiting.is_finished());
        assert!(screens.answer(answer(&request.key, ShowOutcome::Shown)));
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
        assert!(!screens.answer(answer(&request.key, ShowOutcome::Shown)), "a key is good once");
    }

    #[tokio::test]
    async fn one_screen_is_asked_and_after_a_failure_another() {
        let screens = screens();
        let (mut first, mut second) = (screens.attach(), screens.attach());
        for (outcome, error) in [
            (ShowOutcome::NotNow, NotShown::NotNow("No server.".to_owned())),
            (ShowOutcome::Never, NotShown::Never("No server.".to_owned())),
        ] {
            let (request, waiting) = asked(&screens, &mut second).await;
            assert!(first.requests.try_recv().is_err(), "one is enough");
            screens.answer(answer(&request.key, outcome));
            assert_eq!(waiting.await.expect("no panic"), Err(error));
            std::mem::swap(&mut first, &mut second);
        }
    }

    #[tokio::test]
    async fn a_screen_that_goes_away_while_it_is_asked_has_shown_nothing() {
        let screens = screens();
        let mut stays = screens.attach();
        let mut goes = screens.attach();
        let (request, waiting) = asked(&screens, &mut goes).await;
        drop(goes);
        assert_eq!(waiting.await.expect("no panic"), Err(NotShown::Gone));
        assert!(!screens.answer(answer(&request.key, ShowOutcome::Shown)), "too late");
        let (request, waiting) = asked(&screens, &mut stays).await;
        screens.answer(answer(&request.key, ShowOutcome::Shown));
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
    }

    #[tokio::test]
    async fn a_screen_that_does_not_answer_is_not_waited_for_and_shows_nothing_late() {
        let mut screens = screens();
        screens.answer_for = Duration::ZERO;
        let mut hung = screens.attach();
        assert_eq!(screens.show(&delivery()).await, Err(NotShown::Silent));
        assert_eq!(screens.show(&delivery()).await, Err(NotShown::Silent), "not even read");
        let mut well = screens.attach();
        screens.answer_for = ANSWER_FOR;
        let (request, waiting) = asked(&screens, &mut well).await;
        screens.answer(answer(&request.key, ShowOutcome::Shown));
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
        drop(well);
        let left_over = hung.requests.try_recv().expect("the first request");
        assert!(!screens.answer(answer(&left_over.key, ShowOutcome::Shown)));
        let (request, waiting) = asked(&screens, &mut hung).await;
        assert_ne!(request.key, left_over.key);
        screens.answer(answer(&request.key, ShowOutcome::Shown));
        assert_eq!(waiting.await.expect("no panic"), Ok(()));
    }
}
