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
    hint: "Visitors see this name on the link host's pages.",
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
    hint: "Your own domain for the links. It works after you verify it.",
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
    hint:
      "The root of the link host redirects here. If this is empty, the root shows the " +
      "project's name.",
  },
  {
    name: "not_found_url",
    label: "404 page",
    kind: "text",
    isExact: true,
    hint: "Paths without a link redirect here. If this is empty, visitors see a plain 404 page.",
  },
  {
    name: "destinations",
    label: "Allowed destinations",
    kind: "text",
    isBroad: true,
    isExact: true,
    hint:
      "Links may redirect only to these hosts, such as example.com or *.example.com. If this is " +
      "empty, every host is allowed.",
  },
  {
    name: "custom_domain_verified",
    label: "The custom domain is verified",
    kind: "check",
    hint: "Turn this on yourself, or let waypost projects update --verify-domain check the DNS.",
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
    hint: "Google Play passes the visited link to the Android app.",
  },
  {
    name: "clipboard",
    label: "Clipboard",
    kind: "check",
    hint:
      "On iPhones, the App Store button copies an address. After the install, the app uses it to " +
      "find the link.",
  },
  {
    name: "suspended",
    label: "Suspended",
    kind: "check",
    hint: "The project's links stop working, and its keys are rejected.",
  },
];
