//! macOS notifications by UserNotifications.
//!
//! notify-rust 4.19 is not used in app bundles:
//!
//! - Its default backend uses the deprecated API: no replacement, no withdrawal, and a blocked
//! thread per notification.
//!
//! - Its preview backend polls twice a second for clicks, loses clicks on disappearing
//! notifications, and fails while the main thread is busy.
//!
//! So the notification center's delegate is ours. The identifier is the subject, which replaces and
//! withdraws without state; the page travels in the notification, so a click works across restarts.
//!
//! The center requires a bundle; unbundled builds use `waiting_thread`. Permission is requested
//! once; a notification sent before the answer is retried. The user's settings decide how long it
//! stays.

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

use super::button_tokens::Buttons;
use super::button_tokens::fixed::{ALLOW, DENY};
use super::toast::{Clicks, Interaction, Subject, Toast};
use super::waiting_thread::WaitingThreads;
use crate::ui_route::UiRoute;

/// Category of approval notifications.
const APPROVAL_CATEGORY: &str = "question";

/// Notifications of this desktop.
pub(super) enum SystemNotifications {
    Bundled(Centre),
    Loose(WaitingThreads),
}

impl SystemNotifications {
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
            Self::Loose(_) => {
                tracing::debug!(?subject, "only a bundled app can withdraw notifications")
            }
        }
    }
}

fn is_bundled() -> bool {
    std::env::current_exe().is_ok_and(|program| program.ends_with("Contents/MacOS/rouse-desktop"))
}

/// Notification center and delegate.
pub(super) struct Centre {
    /// The center holds the delegate weakly.
    _delegate: Retained<Delegate>,
}

impl Centre {
    fn new(clicks: Clicks) -> Self {
        let delegate = Delegate::new(clicks);
        let centre = UNUserNotificationCenter::currentNotificationCenter();
        centre.setDelegate(Some(ProtocolObject::from_ref(&*delegate)));
        centre.setNotificationCategories(&NSSet::from_retained_slice(&[approval_category()]));
        centre.requestAuthorizationWithOptions_completionHandler(
            UNAuthorizationOptions::Alert | UNAuthorizationOptions::Sound,
            &RcBlock::new(|granted: Bool, _: *mut NSError| {
                tracing::info!(granted = granted.as_bool(), "macOS notification permission");
            }),
        );
        Self { _delegate: delegate }
    }

    async fn show(&self, toast: &Toast) -> Result<(), NotifyError> {
        let (result_tx, result_rx) = oneshot::channel();
        send(toast, result_tx);
        result_rx.await.unwrap_or_else(|_| {
            Err(NotifyError::Later(
                "macOS did not report whether the notification was accepted.".to_owned(),
            ))
        })
    }

    fn withdraw(&self, subject: &Subject) {
        let name = NSString::from_str(subject.name());
        UNUserNotificationCenter::currentNotificationCenter()
            .removeDeliveredNotificationsWithIdentifiers(&NSArray::from_retained_slice(&[name]));
    }
}

type ShowResultSender = oneshot::Sender<Result<(), NotifyError>>;

/// Submits a notification; the center responds on another thread.
fn send(toast: &Toast, result_tx: ShowResultSender) {
    let request = UNNotificationRequest::requestWithIdentifier_content_trigger(
        &NSString::from_str(toast.subject.name()),
        &content(toast),
        None,
    );
    let result_tx = Mutex::new(Some(result_tx));
    let handler = RcBlock::new(move |error: *mut NSError| {
        // SAFETY: the system passes null or an error that is valid during this call.
        let outcome = unsafe { error.as_ref() }.map_or(Ok(()), |error| Err(show_error(error)));
        if let Some(result_tx) = result_tx.lock().ok().and_then(|mut result_tx| result_tx.take()) {
            // Fails only while the app is closing.
            let _ = result_tx.send(outcome);
        }
    });
    UNUserNotificationCenter::currentNotificationCenter()
        .addNotificationRequest_withCompletionHandler(&request, Some(&handler));
}

fn content(toast: &Toast) -> Retained<UNMutableNotificationContent> {
    let content = UNMutableNotificationContent::new();
    content.setTitle(&NSString::from_str(&toast.title));
    content.setBody(&NSString::from_str(&toast.body));
    content.setTargetContentIdentifier(Some(&NSString::from_str(toast.opens.as_str())));
    if let Some(Buttons { allow, deny }) = &toast.buttons {
        content.setCategoryIdentifier(&NSString::from_str(APPROVAL_CATEGORY));
        let names = [&*NSString::from_str(ALLOW), &*NSString::from_str(DENY)];
        let tokens = [NSString::from_str(allow), NSString::from_str(deny)];
        let tokens = NSDictionary::from_retained_objects(&names, &tokens);
        // SAFETY: a dictionary of strings is valid user info.
        unsafe { content.setUserInfo(tokens.cast_unchecked()) };
    }
    if toast.urgent {
        content.setSound(Some(&UNNotificationSound::defaultSound()));
    }
    content
}

/// Approval buttons, registered in advance.
fn approval_category() -> Retained<UNNotificationCategory> {
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
        &NSString::from_str(APPROVAL_CATEGORY),
        &NSArray::from_retained_slice(&[allow, deny]),
        &NSArray::new(),
        UNNotificationCategoryOptions::empty(),
    )
}

/// Button tokens in `content`.
fn buttons_of(content: &UNNotificationContent) -> Option<Buttons> {
    let user_info = content.userInfo();
    let token = |name: &str| {
        let token = user_info.objectForKey(&NSString::from_str(name))?;
        token.downcast::<NSString>().ok().map(|token| token.to_string())
    };
    Some(Buttons { allow: token(ALLOW)?, deny: token(DENY)? })
}

fn show_error(error: &NSError) -> NotifyError {
    if error.code() == UNErrorCode::NotificationsNotAllowed.0 {
        return NotifyError::Later(
            "macOS does not let Rouse notify you. Allow it in System Settings, Notifications, Rouse."
                .to_owned(),
        );
    }
    NotifyError::Later(format!("macOS rejected the notification: {}", error.localizedDescription()))
}

define_class!(
    /// Receives clicks, and shows notifications while the window is in front.
    #[unsafe(super(NSObject))]
    #[name = "RouseNotificationDelegate"]
    #[ivars = Clicks]
    pub(super) struct Delegate;

    // SAFETY: NSObjectProtocol has no further requirements.
    unsafe impl NSObjectProtocol for Delegate {}

    // SAFETY: both methods have the signatures of the protocol and call the handlers once.
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
            self.handle_response(response);
            done.call(());
        }
    }
);

impl Delegate {
    fn new(clicks: Clicks) -> Retained<Self> {
        let delegate = Self::alloc().set_ivars(clicks);
        // SAFETY: `init` of NSObject takes no arguments and cannot fail.
        unsafe { msg_send![super(delegate), init] }
    }

    fn handle_response(&self, response: &UNNotificationResponse) {
        let content = response.notification().request().content();
        let opens = content.targetContentIdentifier();
        let route = opens.and_then(|path| UiRoute::parse(&path.to_string()));
        let route = route.unwrap_or_else(UiRoute::home);
        let action = response.actionIdentifier();
        // SAFETY: a constant of the system.
        let click = unsafe { UNNotificationDefaultActionIdentifier };
        let interaction = if action.isEqualToString(click) {
            Some(Interaction::Open(route))
        } else {
            let token =
                buttons_of(&content).and_then(|tokens| tokens.token_of(&action.to_string()));
            token.map(|token| Interaction::Press(token, route))
        };
        if interaction.is_some_and(|interaction| self.ivars().send(interaction).is_err()) {
            tracing::debug!("click ignored, the app is closing");
        }
    }
}
