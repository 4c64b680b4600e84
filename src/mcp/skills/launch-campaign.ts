export const launchCampaign = `---
name: launch-campaign
description: Make a campaign's links, check what their visitors meet, and hand them over.
---

# Launch a campaign

## 1. Ask once
You need the page to lead to, the apps to open (or none), the channels (mail, poster, a partner…),
and words for the preview. Ask for all that is missing in one question. Invent no address.

## 2. One link per channel
Clicks are counted per link, so that channels can only be told apart by links of their own. Choose
short paths that tell the campaign and channel (\`spring/mail\`). See whether they are free:
\`list_links {filters: [{field: "path", condition: "start", value: "spring"}]}\`. Put campaign
parameters into the query of \`url\` (\`utm_source\`, \`utm_medium\`, \`utm_campaign\`). For the
stores there are \`referrer\` (Android) and \`provider_token\` with \`campaign_token\` (iOS).

## 3. Look before you make them
\`explain_link {url, path, ios_app, android_app, social_title, social_description}\` tells for
fields that are not saved yet what each visitor meets. Settle its \`problems\` with the user
first; each has its \`fix\`. What matters most:
- an app without its store id leaves those who lack it at the page;
- \`name\` is internal: visitors see \`social_title\`, else the app's name, else the host;
- \`social_title\`, \`social_description\` and \`social_image_url\` are what a messenger shows: a
  picture of 1200 × 630;
- \`enable_forced_redirect\` skips the page, and with it the choice between app and browser.

## 4. Make them
A link or two: \`create_link {name, path, url}\` with the fields from above. More:
\`plan_links {operation: "upsert", rows}\`, show the counts, then \`apply_plan {plan_id}\`. Links
that are there already get the parameters by
\`plan_links {operation: "update", filters, add_query}\` with
\`add_query: {field: "url", values: {utm_campaign: "spring"}}\`, and a common start of their paths
by \`plan_links {operation: "update", filters, path_prefix}\` while nothing is printed yet. Then
\`audit_links {filters}\` with the campaign's path as filter tells in one call what is wrong.

## 5. See them
- \`preview_template {link_id, platform}\` answers with \`preview_url\`: give it to the user, who
  sees the page as a phone shows it. You cannot judge how it looks; they can.
- \`get_link {id, qr}\` with \`qr: true\` has the QR code of the address for posters.

## 6. Hand over
A table: channel, address, what iOS, Android and desktop visitors meet, in a line each. Say how to
look at clicks later: \`list_links {filters, sort}\` with
\`sort: {field: "clicks", direction: "desc"}\`. When it is over, lead the links elsewhere with
\`update_link {id, url}\` in place of deleting them: a printed code lives for years.
`;
