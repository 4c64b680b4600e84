import { plans } from "../../contract/pricing-plans.ts";
import type { Field } from "../form-fields.ts";

/** The fields of a project: those that the API knows, and those that only its operator sets. */

export const projectList = { name: "Projects", address: "/projects" };

export function writeProjectAddress(id: string): string {
  return `${projectList.address}/${encodeURIComponent(id)}`;
}

export const projectFields: readonly Field[] = [
  {
    name: "name",
    kind: "text",
    hint: "Visitors see it on the pages of the link host.",
  },
  {
    name: "subdomain",
    kind: "text",
    isExact: true,
    hint: "The first part of the link host, such as shop in shop.example.com.",
  },
  {
    name: "custom_domain",
    kind: "text",
    isBroad: true,
    isExact: true,
    hint: "Your own domain for the links. It works once it is verified.",
  },
];

export const settingFields: readonly Field[] = [
  {
    name: "plan",
    label: "Plan",
    kind: "choice",
    choices: plans.map((value) => ({ value, name: value === "pro" ? "Pro" : "Free" })),
  },
  { name: "max_links", label: "Link limit", kind: "text", hint: "Applies to the Free plan only." },
  {
    name: "home_url",
    label: "Home page",
    kind: "text",
    isExact: true,
    hint: "Where the root of the link host redirects. If empty, it shows the project's name.",
  },
  {
    name: "not_found_url",
    label: "404 page",
    kind: "text",
    isExact: true,
    hint: "Where paths without a link redirect. If empty, a plain 404 page.",
  },
  {
    name: "destinations",
    label: "Allowed destinations",
    kind: "text",
    isBroad: true,
    isExact: true,
    hint: "Hosts that links may redirect to: example.com, *.example.com. If empty, any host.",
  },
  {
    name: "custom_domain_verified",
    label: "The custom domain is verified",
    kind: "check",
    hint: "Confirm it yourself, or let waypost projects update --verify-domain check the DNS.",
  },
  {
    name: "templates_enabled",
    label: "Page templates",
    kind: "check",
    hint: "The project may use its own page template.",
  },
  {
    name: "link_in_referrer",
    label: "Link in referrer",
    kind: "check",
    hint: "Apps and Google Play receive the address that was visited.",
  },
  {
    name: "clipboard",
    label: "Clipboard",
    kind: "check",
    hint: "On iPhones, the App Store button copies an address with which the app finds its link.",
  },
  {
    name: "suspended",
    label: "Suspended",
    kind: "check",
    hint: "Its links stop working, and its keys are rejected.",
  },
];
