export const moveLinksHere = `---
name: move-links-here
description: Bring links over from Firebase, Branch, Bitly or Short.io, and prove that none is lost.
---

# Move links here

Do this when the user has links at another service and wants them here. Nothing is written before
step 4, and a person approves what is.

## 1. Apps first
Links open apps only if the apps are registered. Call \`list_ios_apps\` and \`list_android_apps\`.
Ask the user for what is missing, and never make up an id:
- iOS: \`register_ios_app {bundle_id, team_id, app_store_id, custom_scheme}\`. The team id is the
  10 characters in App Store Connect under Membership. Without \`app_store_id\` nobody who lacks
  the app gets to the store.
- Android: \`register_android_app {package_name, fingerprints, custom_scheme}\`. Use the SHA-256
  fingerprint of Google Play's signing key (Play Console, App integrity), and the upload key's if
  test builds shall open links.

## 2. The export
Ask for the service's own export, unchanged: the column names tell which service it is.
- Firebase: the CSV of Google Takeout, or a list of long links (\`…?link=…&apn=…&ibi=…\`).
- Branch: the CSV of quick links, or the links' data as JSON.
- Any table whose columns are named like the fields of a link works as well.
A file of some hundred lines goes into one call. A longer one is for the user to bring in at a
terminal, with \`waypost import FILE\`; go on with step 5 then.

## 3. Plan
\`plan_links {operation: "upsert", csv}\` (for JSON: \`plan_links {operation: "upsert", rows}\`)
reads the file and compares it with what is here. Tell the user, in this order:
1. the counts: created, updated, unchanged, conflicts, invalid;
2. \`unmapped\`: what the other service had and a link has no field for;
3. \`problems\`, by their row. Mend them with the user in the file, and plan again.
An update means that a link here has that path already: ask before you overwrite it.

## 4. Apply
\`apply_plan {plan_id}\` once the user agrees. It asks for approval where it overwrites or
registers. Follow it with \`get_job {job_id}\`; its \`failures\` are rows to mend and plan once
more.

## 5. Prove it
- Plan the same source again: every row must be unchanged.
- \`audit_links\` looks at all links in one call: links that lead nowhere, loops, mistyped hosts,
  missing stores, short fingerprints. Each group has its \`ids\`, and a \`fix\` where a call mends
  it.
- \`explain_link {id}\` for the five most visited: compare with what the old link did.

## 6. The addresses
Old addresses keep leading to the old service until its domain points here: the user adds the
domain to the project and changes its DNS. Say so plainly, and that apps must list the new domain
(iOS: Associated Domains, \`applinks:\`; Android: an intent filter with \`autoVerify\`).
Firebase's \`page.link\` domains cannot be moved: those links must be replaced where they were
published. Where links lead to other links by the old domain, move these in one plan, host for
host, paths kept: \`plan_links {operation: "update", filters, replace}\` with
\`filters: [{field: "url", condition: "cont", value: "old.example"}]\` and
\`replace: [{field: "url", from: "old.example", to: "new.example", match: "host"}]\`; once for
each of the fallback fields that has it.

To take it all back: \`plan_links {undo}\` with the job's id, then \`apply_plan {plan_id}\`.
`;
