"""A mail server for the tests of the channel e-mail: aiosmtpd, with a certificate of trustme.

Usage: smtp_server.py none|starttls|tls AUTHORITY
Writes the certificate authority to the file AUTHORITY, except for `none`. Prints `port N` when it listens, and a line
of JSON for each e-mail. The name of a recipient before the `@` chooses the answer. Ends with its input.
"""

import asyncio
import email
import email.policy
import json
import ssl
import sys

import trustme
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

HOST = "127.0.0.1"
LOGIN = LoginPassword(login=b"rouse", password=b"tea-and-toast")

# Answers to RCPT.
RECIPIENTS = {
    "refused": "550 5.1.1 No such user",
    "busy": "451 4.3.0 Try again later",
}
# Answers to the content.
CONTENTS = {
    "spam": "554 5.7.1 Looks like spam",
    "full": "452 4.2.2 Mailbox full",
}


class Answers:
    """Accepts, refuses or drops e-mail by its recipient, or leaves the first one without an answer."""

    has_held = False

    async def handle_RCPT(self, server, session, envelope, address, options):
        answer = RECIPIENTS.get(name_of(address))
        if answer is None:
            envelope.rcpt_tos.append(address)
        return answer or "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        names = [name_of(address) for address in envelope.rcpt_tos]
        print(json.dumps(record(server, session, envelope)), flush=True)
        if "dropped" in names:
            server.transport.abort()
        if "held" in names and not self.has_held:
            type(self).has_held = True
            await asyncio.get_running_loop().create_future()
        return next((CONTENTS[name] for name in names if name in CONTENTS), "250 2.0.0 Queued")


def name_of(address):
    return address.split("@")[0]


def record(server, session, envelope):
    """The e-mail as a reader sees it."""
    message = email.message_from_bytes(envelope.content, policy=email.policy.default)
    return {
        "isEncrypted": server.transport.get_extra_info("ssl_object") is not None,
        "isSignedIn": bool(session.authenticated),
        "sender": envelope.mail_from,
        "recipients": envelope.rcpt_tos,
        "subject": message["subject"],
        "id": message["message-id"],
        "plain": message.get_body(("plain",)).get_content(),
        "html": message.get_body(("html",)).get_content(),
        "defects": [str(defect) for part in message.walk() for defect in part.defects],
    }


def authenticate(server, session, envelope, mechanism, login):
    return AuthResult(success=login == LOGIN, handled=False)


def server_context(authority_file):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(authority_file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)
    return context


async def main():
    security, authority_file = sys.argv[1:]
    context = None if security == "none" else server_context(authority_file)

    def connection():
        return SMTP(
            Answers(),
            tls_context=context if security == "starttls" else None,
            require_starttls=security == "starttls",
            authenticator=authenticate,
            auth_required=security != "none",
            # aiosmtpd counts only STARTTLS as TLS.
            auth_require_tls=security != "tls",
        )

    loop = asyncio.get_running_loop()
    tls = context if security == "tls" else None
    server = await loop.create_server(connection, HOST, 0, ssl=tls)
    print("port", server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main())
