//! Notifications on macOS, by the system's own notification centre.
//!
//! notify-rust 4.19 is not used in an app bundle, for what it cannot do:
//! - By default it goes by the interface that Apple has given up: it cannot replace or withdraw, sends only while it
//!   waits, and waits by blocking a thread for each notification.
//! - Its preview of the present interface can replace and withdraw, but waits for a click by asking twice a second
//!   whether the notification is still there, takes a click that it saw disappear for none, and gives up at once when
//!   the main thread is busy.
//!
//! So the system's one delegate is ours. A notification's identifier is its subject, which replaces and withdraws without
//! anything being remembered here; the page it opens travels with it, so a click is heard in this life of the app and,
//! because the delegate is there before the app has finished launching, by the start that it causes.
//!
//! The centre knows bundles only, and ends a program without one. Such a program, as a build folder has it, notifies
//! through notify-rust, with the limits in `waiting_thread`. The person is asked once whether Rouse may notify; a
//! notification that comes before the answer is tried again. How long one stays is the person's setting, not ours.

use std::path::Path;
use std::sync::Mutex;

use block2::{DynBlock, RcBlock};
use objc2::rc::Retained;
use objc2::runtime::{Bool, ProtocolObject};
use objc2::{AnyThread, DefinedClass, define_class, msg_send};
use objc2_foundation::{
    NSArray, NSDictionary, NSError, NSObject, NSObjectProtocol, NSSet, NSString,
};
use objc2_user_notifications::{
    UNAuthorizationOptions, UNErrorCode, UNMutableNotificationContent, UNNotification,
    UNNotificationAction, UNNotificationActionOptions, UNNotificationCategory,
    UNNotificationCategoryOptions, UNNotificationContent, UNNotificationDefaultActionIdentifier,
    UNNotificationPresentationOptions, UNNotificationRequest, UNNotificationResponse,
    UNNotificationSound, UNUserNotificationCenter, UNUserNotificationCenterDelegate,
};
use rouse_host::NotifyError;
use tokio::sync::oneshot;

use super::answers::fixed::{ALLOW, DENY};
use super::waiting_thread::WaitingThreads;
use super::{Buttons, Clicks, Subject, Toast, Touch};
use crate::place::Place;

/// The category of notifications that ask a question.
const QUESTION: &str = "question";

/// The notifications on this desktop.
pub(super) enum Notifications {
    Bundled(Centre),
    Loose(WaitingThreads),
}

impl Notifications {
    pub(super) fn new(clicks: Clicks, _: &Path) -> Self {
        if is_bundled() {
            Self::Bundled(Centre::new(clicks))
        } else {
            Self::Loose(WaitingThreads::new(clicks))
        }
    }

    pub(super) async fn show(&self, toast: Toast) -> Result<(), NotifyError> {
        match self {
            Self::Bundled(centre) => centre.show(&toast).await,
            Self::Loose(threads) => threads.show(toast).await,
        }
    }

    pub(super) fn withdraw(&self, subject: &Subject) {
        match self {
            Self::Bundled(centre) => centre.withdraw(subject),
            Self::Loose(_) => tracing::debug!(?subject, "only a bundle can take it back"),
        }
    }
}

fn is_bundled() -> bool {
    std::env::current_exe().is_ok_and(|program| program.ends_with("Contents/MacOS/rouse-desktop"))
}

/// The system's notification centre, with our delegate in it.
pub(super) struct Centre {
    /// The system holds its delegate only weakly.
    _delegate: Retained<Delegate>,
}

impl Centre {
    fn new(clicks: Clicks) -> Self {
        let delegate = Delegate::new(clicks);
        let centre = UNUserNotificationCenter::currentNotificationCenter();
        centre.setDelegate(Some(ProtocolObject::from_ref(&*delegate)));
        centre.setNotificationCategories(&NSSet::from_retained_slice(&[question()]));
        centre.requestAuthorizationWithOptions_completionHandler(
            UNAuthorizationOptions::Alert | UNAuthorizationOptions::Sound,
            &RcBlock::new(|granted: Bool, _: *mut NSError| {
                tracing::info!(granted = granted.as_bool(), "macOS said whether Rouse may notify");
            }),
        );
        Self { _delegate: delegate }
    }

    async fn show(&self, toast: &Toast) -> Result<(), NotifyError> {
        let (tell, told) = oneshot::channel();
        send(toast, tell);
        told.await.unwrap_or_else(|_| {
            Err(NotifyError::Later(
                "macOS did not say whether it took the notification.".to_owned(),
            ))
        })
    }

    fn withdraw(&self, subject: &Subject) {
        let name = NSString::from_str(subject.name());
        UNUserNotificationCenter::currentNotificationCenter()
            .removeDeliveredNotificationsWithIdentifiers(&NSArray::from_retained_slice(&[name]));
    }
}

type Told = oneshot::Sender<Result<(), NotifyError>>;

/// Hands `toast` to the system, which answers on a thread of its own.
fn send(toast: &Toast, tell: Told) {
    let request = UNNotificationRequest::requestWithIdentifier_content_trigger(
        &NSString::from_str(toast.subject.name()),
        &content(toast),
        None,
    );
    let tell = Mutex::new(Some(tell));
    let answered = RcBlock::new(move |error: *mut NSError| {
        // SAFETY: the system hands over null or an error that lives as long as this call.
        let outcome = unsafe { error.as_ref() }.map_or(Ok(()), |error| Err(refused(error)));
        if let Some(tell) = tell.lock().ok().and_then(|mut tell| tell.take()) {
            // Nobody listens only when the app is closing.
            let _ = tell.send(outcome);
        }
    });
    UNUserNotificationCenter::currentNotificationCenter()
        .addNotificationRequest_withCompletionHandler(&request, Some(&answered));
}

fn content(toast: &Toast) -> Retained<UNMutableNotificationContent> {
    let content = UNMutableNotificationContent::new();
    content.setTitle(&NSString::from_str(&toast.title));
    content.setBody(&NSString::from_str(&toast.body));
    content.setTargetContentIdentifier(Some(&NSString::from_str(toast.opens.as_str())));
    if let Some(Buttons { allow, deny }) = &toast.buttons {
        content.setCategoryIdentifier(&NSString::from_str(QUESTION));
        let names = [&*NSString::from_str(ALLOW), &*NSString::from_str(DENY)];
        let words = [NSString::from_str(allow), NSString::from_str(deny)];
        let words = NSDictionary::from_retained_objects(&names, &words);
        // SAFETY: texts by texts are what the system can keep and hand back.
        unsafe { content.setUserInfo(words.cast_unchecked()) };
    }
    if toast.urgent {
        content.setSound(Some(&UNNotificationSound::defaultSound()));
    }
    content
}

/// The two answers to a question, as the system wants to know them beforehand.
fn question() -> Retained<UNNotificationCategory> {
    let button = |name: &str, title: &str, options: UNNotificationActionOptions| {
        UNNotificationAction::actionWithIdentifier_title_options(
            &NSString::from_str(name),
            &NSString::from_str(title),
            options,
        )
    };
    let allow = button(ALLOW, "Allow once", UNNotificationActionOptions::AuthenticationRequired);
    let deny = button(DENY, "Deny", UNNotificationActionOptions::Destructive);
    UNNotificationCategory::categoryWithIdentifier_actions_intentIdentifiers_options(
        &NSString::from_str(QUESTION),
        &NSArray::from_retained_slice(&[allow, deny]),
        &NSArray::new(),
        UNNotificationCategoryOptions::empty(),
    )
}

/// The words that `content` has put behind the buttons.
fn buttons_of(content: &UNNotificationContent) -> Option<Buttons> {
    let kept = content.userInfo();
    let word = |name: &str| {
        let word = kept.objectForKey(&NSString::from_str(name))?;
        word.downcast::<NSString>().ok().map(|word| word.to_string())
    };
    Some(Buttons { allow: word(ALLOW)?, deny: word(DENY)? })
}

fn refused(error: &NSError) -> NotifyError {
    if error.code() == UNErrorCode::NotificationsNotAllowed.0 {
        return NotifyError::Later(
            "macOS does not let Rouse notify you. Allow it in System Settings, Notifications, Rouse."
                .to_owned(),
        );
    }
    NotifyError::Later(format!(
        "macOS did not take the notification: {}",
        error.localizedDescription()
    ))
}

define_class!(
    /// Hears of every click, and lets notifications be seen while the window is in front.
    // SAFETY: NSObject asks nothing of its subclasses, and there is no Drop.
    #[unsafe(super(NSObject))]
    #[name = "RouseNotificationDelegate"]
    #[ivars = Clicks]
    pub(super) struct Delegate;

    // SAFETY: NSObjectProtocol asks nothing more.
    unsafe impl NSObjectProtocol for Delegate {}

    // SAFETY: both methods have the signatures of the protocol and call their handlers once.
    unsafe impl UNUserNotificationCenterDelegate for Delegate {
        #[unsafe(method(userNotificationCenter:willPresentNotification:withCompletionHandler:))]
        fn will_present(
            &self,
            _centre: &UNUserNotificationCenter,
            _notification: &UNNotification,
            answer: &DynBlock<dyn Fn(UNNotificationPresentationOptions)>,
        ) {
            answer.call((UNNotificationPresentationOptions::Banner
                | UNNotificationPresentationOptions::List
                | UNNotificationPresentationOptions::Sound,));
        }

        #[unsafe(method(userNotificationCenter:didReceiveNotificationResponse:withCompletionHandler:))]
        fn did_receive(
            &self,
            _centre: &UNUserNotificationCenter,
            response: &UNNotificationResponse,
            done: &DynBlock<dyn Fn()>,
        ) {
            self.hear(response);
            done.call(());
        }
    }
);

impl Delegate {
    fn new(clicks: Clicks) -> Retained<Self> {
        let delegate = Self::alloc().set_ivars(clicks);
        // SAFETY: `init` of NSObject takes nothing and cannot fail.
        unsafe { msg_send![super(delegate), init] }
    }

    fn hear(&self, response: &UNNotificationResponse) {
        let content = response.notification().request().content();
        let opens = content.targetContentIdentifier();
        let place = opens.and_then(|path| Place::parse(&path.to_string()));
        let place = place.unwrap_or_else(Place::home);
        let action = response.actionIdentifier();
        // SAFETY: a constant of the system's.
        let click = unsafe { UNNotificationDefaultActionIdentifier };
        let touch = if action.isEqualToString(click) {
            Some(Touch::Open(place))
        } else {
            let word = buttons_of(&content).and_then(|words| words.word_of(&action.to_string()));
            word.map(|word| Touch::Press(word, place))
        };
        if touch.is_some_and(|touch| self.ivars().send(touch).is_err()) {
            tracing::debug!("a click came while the app was closing");
        }
    }
}
