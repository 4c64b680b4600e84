import { limits } from "../../contract/limits.ts";
import { isBlank } from "../../contract/text.ts";
import { quote } from "../../text/show-hidden.ts";
import { writeLabel } from "../../text/write-label.ts";

/** Formats values of rows and records for people. */

/** App names by UUID, bundle ID or package name. */
export type AppNames = Readonly<Record<string, string>>;

/** Quotes strings, lists the items of lists and apps, and writes other values as JSON. */
export function writeValue(value: unknown, names: AppNames = {}): string {
  if (value === null || value === undefined) return "none";
  if (Array.isArray(value) && value.length === 0) return "none";
  if (typeof value === "string") {
    return Object.hasOwn(names, value)
      ? String(names[value])
      : quote(value, limits.web_address_characters);
  }
  if (Array.isArray(value)) {
    return value.map((item) => writeValue(item, names)).join(", ") || "none";
  }
  if (typeof value !== "object") return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, member]) => {
      // A known app is shown only by its name.
      const isNamed =
        identifying.has(name) && typeof member === "string" && Object.hasOwn(names, member);
      return `${isNamed ? "" : `${writeLabel(name)}: `}${writeValue(member, names)}`;
    })
    .join(", ");
}

/** The fields that identify an app. */
const identifying: ReadonlySet<string> = new Set(["id", "bundle_id", "package_name"]);

/** Formats an app by name and identifier, or by its UUID if both are unknown. */
export function writeApp(id: string, known: readonly unknown[]): string {
  const texts = known.filter((text) => typeof text === "string" && !isBlank(text));
  const [first, second] = texts.map((text) => quote(String(text)));
  if (first === undefined) return `an app that this API key cannot read (${quote(id)})`;
  return second === undefined ? first : `${first} (${second})`;
}
