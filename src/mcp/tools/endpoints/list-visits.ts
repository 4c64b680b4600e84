import type { JsonObject } from "../../../contract/json.ts";
import { limits } from "../../../contract/limits.ts";
import { writeAddress } from "../../../contract/rules/link-address.ts";
import { isBlank } from "../../../contract/text.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { VisitedLink } from "../../../visit/decide-visit.ts";
import { explainVisits } from "../../../visit/explain-visits.ts";
import type { Fact } from "../../approval/approval-request.ts";
import type { Call } from "../tool.ts";
import type { LinkApps } from "../apps.ts";

/** What visitors will see after a link is changed or created, in one line per platform. */

type Changed = {
  readonly record: JsonObject;
  readonly changes: JsonObject;
  readonly apps: LinkApps;
};

export function listVisits(
  { record, changes, apps }: Changed,
  { keyContext }: Pick<Call, "keyContext">,
): readonly Fact[] {
  const { linkHost, hasSecondHost, linkInReferrer } = keyContext.known;
  const { ios_app: _, android_app: __, ...fields } = changes;
  // The deployment answered the record, and takes the fields or refuses them.
  const link = {
    ...record,
    ...fields,
    ios_app_id: apps.ios_app?.after_id ?? null,
    android_app_id: apps.android_app?.after_id ?? null,
  } as VisitedLink;
  const visited = { ios_app: apps.ios_app?.after, android_app: apps.android_app?.after };
  const isAddressed = linkHost !== undefined && !isBlank(link.path);
  const { visits } = explainVisits(link, visited, {
    link_in_referrer: linkInReferrer,
    second_host: hasSecondHost,
    address: isAddressed ? writeAddress(linkHost, link.path ?? "") : undefined,
  });
  const items = [
    `iPhone: ${describeMobile(visits.ios)}`,
    `Android: ${describeMobile(visits.android)}`,
    `Computer: ${describeOutcome(visits.desktop)}`,
  ];
  return [{ name: "visitors will see", kind: "list", items }];
}

type Visits = ReturnType<typeof explainVisits>["visits"];
type Outcome = Visits["desktop"];

function describeMobile({ with_app, without_app }: Visits["ios"]): string {
  const rest = describeOutcome(without_app);
  return with_app.action === "open_app" ? `the app; without the app, ${rest}` : rest;
}

function describeOutcome({ action, to }: Outcome): string {
  const place = to === undefined ? undefined : quote(to, limits.web_address_characters);
  switch (action) {
    case "redirect":
      return `a redirect to ${place}`;
    case "preview_page":
      return place === undefined ? "the preview page" : `the preview page, then ${place}`;
    case "open_app":
      return "the app";
    case "default_page":
      return "the default page, because the link has no destination";
  }
}
