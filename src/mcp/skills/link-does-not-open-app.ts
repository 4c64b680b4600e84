export const linkDoesNotOpenApp = `---
name: link-does-not-open-app
description: Find out why a link opens a page or a store and not the app, and what mends it.
---

# Why does my link not open the app?

Go from what can be seen here to what only the user can see. Stop at the first cause that explains
it, and change nothing before the user agrees.

## 1. The link
\`explain_link {id}\` (an id, name, path or address). Read \`visits\` for the platform in question,
then \`problems\`, and tell the user both. Most often:
- there is no \`ios_app\` or \`android_app\` on the link: \`update_link {id, ios_app}\` or
  \`update_link {id, android_app}\`;
- \`problems\` say that there is no Open button, or no store id: mend the app (step 2);
- the app was deleted: links are detached then. \`list_changes\` tells when, and by whom.

## 2. The app
\`get_ios_app {id}\` or \`get_android_app {id}\`, by its bundle id or package name. Compare letter
by letter with what the user reads in Xcode, or in the Play Console:
- iOS: \`bundle_id\` and \`team_id\`. A wrong team id is the most common cause: then the system
  never trusts the domain.
- Android: \`package_name\` and \`fingerprints\`. They must have the SHA-256 fingerprint of the
  key that signs what is installed. Apps from Google Play are signed by Google's key, not by the
  developer's.
- \`custom_scheme\`: what the Open button on the link's page uses where the system does not open
  the app by itself.
Mend with \`update_ios_app {id, team_id}\` or \`update_android_app {id, fingerprints}\`; the list
of fingerprints replaces the old one, so give all of them. A person is asked to approve.

## 3. The domain
\`check_domain\` looks at the host as phones do: read its findings first, errors before warnings,
and tell the user each \`fix\`. The system asks the host once, when the app is installed:
- iOS: \`https://HOST/.well-known/apple-app-site-association\`. The app's Associated Domains must
  have \`applinks:HOST\`. Apple keeps a copy for up to a day: reinstall the app after a change.
- Android: \`https://HOST/.well-known/assetlinks.json\`. The intent filter needs
  \`android:autoVerify="true"\` and the host. \`adb shell pm get-app-links PACKAGE\` must say
  verified.
Both need https and a public host: on \`localhost\` no app opens by itself, whatever is
registered.

## 4. The way of opening it
Ask how the user tried. These never open an app, and nothing is broken:
- an address typed into the browser's bar, or a page reload;
- a tap inside the app itself, or on a page of the same host (iOS);
- in-app browsers of some networks: there the page's Open button is the way, so
  \`enable_forced_redirect\` should be off;
- after the user chose the browser once (iOS: long press, Open in app, brings it back).

## 5. Say what it was
One sentence for the cause, one for what mends it, and what you could not see from here. If
several links may be concerned, \`audit_links\` tells in one call which have the same fault, with
the \`fix\` as a plan where there is one; else \`plan_links {operation, filters, changes}\` mends
them together.
`;
