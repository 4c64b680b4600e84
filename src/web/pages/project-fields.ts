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
    hint: "Visitors see it on the host's own pages and beside a link's title.",
  },
  {
    name: "subdomain",
    kind: "text",
    isExact: true,
    hint: "Its links are at this name, under the service's own domain.",
  },
  {
    name: "custom_domain",
    kind: "text",
    isBroad: true,
    isExact: true,
    hint: "A domain of your own for the links. It works once it is verified.",
  },
];

export const settingFields: readonly Field[] = [
  {
    name: "plan",
    kind: "choice",
    choices: plans.map((value) => ({ value, name: value === "pro" ? "Pro" : "Free" })),
  },
  { name: "max_links", label: "Most links", kind: "text", hint: "Only on the Free plan." },
  {
    name: "home_url",
    label: "Home",
    kind: "text",
    isExact: true,
    hint: "Where the root of the host leads. Empty: a quiet page with the project's name.",
  },
  {
    name: "not_found_url",
    label: "Not found",
    kind: "text",
    isExact: true,
    hint: "Where an address of no link leads. Empty: a quiet page.",
  },
  {
    name: "destinations",
    kind: "text",
    isBroad: true,
    isExact: true,
    hint: "The hosts that links may lead to: example.com, *.example.com. Empty: any host.",
  },
  {
    name: "custom_domain_verified",
    label: "The custom domain is verified",
    kind: "check",
    hint: "You vouch for the domain. waypost projects update --verify-domain checks the DNS.",
  },
  {
    name: "templates_enabled",
    label: "Page templates",
    kind: "check",
    hint: "The project may have a page of its own design.",
  },
  {
    name: "link_in_referrer",
    label: "Link in referrer",
    kind: "check",
    hint: "Apps and Google Play are told the address of the visit.",
  },
  {
    name: "clipboard",
    label: "Clipboard",
    kind: "check",
    hint: "On iPhones the App Store button copies an address that tells a new app its link.",
  },
  {
    name: "suspended",
    label: "Suspended",
    kind: "check",
    hint: "Its links lead nowhere, and its keys are refused.",
  },
];
