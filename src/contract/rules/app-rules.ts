import type { AndroidAppFields, IosAppFields } from "../apps.ts";
import { limits } from "../limits.ts";
import { makeFieldProblem, type CheckedValues, type FieldProblem } from "../problem.ts";
import { isBlank, isStorable } from "../text.ts";

/** The validation rules for the fields of apps. */

export type IosAppValues = {
  readonly bundle_id: string;
  readonly team_id: string;
  readonly app_store_id: string | null;
  readonly name: string | null;
  readonly clip_bundle_id: string | null;
  readonly custom_scheme: string | null;
};

export type AndroidAppValues = {
  readonly package_name: string;
  readonly fingerprints: readonly string[];
  readonly name: string | null;
  readonly custom_scheme: string | null;
};

/**
 * Whether a link's app field would register a new app. An id refers to an existing app, and so does
 * a bundle ID or package name without other fields.
 */
export function bringsNewApp(choice: Readonly<Record<string, unknown>>): boolean {
  return isBlank(choice["id"]) && Object.keys(choice).length > 1;
}

const teamIdLength = 10;
/** Apple's format for Team IDs. The API accepts any ten characters. */
const teamIdPattern = /^[A-Z0-9]{10}$/;
const bundleIdPattern = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/;
const packageNamePattern = /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$/;
const fingerprintPattern = /^[0-9A-F]{2}(:[0-9A-F]{2})+$/;
const sha256Pattern = /^[0-9A-F]{2}(:[0-9A-F]{2}){31}$/;
const mostFingerprints = 100;
const fingerprintCharacters = 128;
const schemePattern = /^[a-z][a-z0-9+.-]*$/i;
/**
 * Schemes that an app may not use, because they belong to browsers, app stores or operating
 * systems.
 */
const systemSchemes = new Set(
  (
    "about android-app app-settings blob chrome content data facetime facetime-audio file " +
    "filesystem firefox ftp googlechrome googlechromes http https intent itms itmss javascript " +
    "mailto market microsoft-edge prefs search-ms shortcuts sms smsto tel telprompt vbscript " +
    "view-source ws wss"
  ).split(" "),
);
const systemSchemePrefixes = ["itms-", "ms-", "x-safari-"];

/** Validates a whole iOS app. For an update, pass the stored app with the changes applied. */
export function checkIosApp(fields: IosAppFields): CheckedValues<IosAppValues> {
  const values: IosAppValues = {
    bundle_id: fields.bundle_id ?? "",
    team_id: fields.team_id ?? "",
    app_store_id: blankToNull(fields.app_store_id?.replace(/\D/g, "")),
    name: blankToNull(fields.name),
    clip_bundle_id: blankToNull(dropTeamIds(fields.clip_bundle_id, fields.team_id)),
    custom_scheme: normalizeScheme(fields.custom_scheme),
  };
  const problems = [
    ...checkIdentifier("bundle_id", values.bundle_id, bundleIdPattern),
    ...(values.team_id.length === teamIdLength && isStorable(values.team_id)
      ? []
      : [
          makeFieldProblem("team_id", `is the wrong length (should be ${teamIdLength} characters)`),
        ]),
    ...checkOptional("clip_bundle_id", values.clip_bundle_id, isIdentifier(bundleIdPattern)),
    ...checkShared(values),
  ];
  return { values, problems };
}

/** Validates a whole Android app. For an update, pass the stored app with the changes applied. */
export function checkAndroidApp(fields: AndroidAppFields): CheckedValues<AndroidAppValues> {
  const fingerprints = (fields.fingerprints ?? [])
    .map((fingerprint) => fingerprint.trim().toUpperCase())
    .filter((fingerprint) => fingerprint !== "");
  const values: AndroidAppValues = {
    package_name: fields.package_name ?? "",
    fingerprints,
    name: blankToNull(fields.name),
    custom_scheme: normalizeScheme(fields.custom_scheme),
  };
  const problems = [
    ...checkIdentifier("package_name", values.package_name, packageNamePattern),
    ...checkFingerprints(fingerprints),
    ...checkShared(values),
  ];
  return { values, problems };
}

/** Android ignores other fingerprints, although the API accepts them. */
export function selectSha256(app: AndroidAppFields): readonly string[] {
  return checkAndroidApp(app).values.fingerprints.filter((text) => sha256Pattern.test(text));
}

/**
 * Returns a warning, without a final period, for a Team ID that the API accepts but Apple never
 * assigns.
 */
export function findTeamIdWarning(app: IosAppFields): string | undefined {
  const { team_id } = checkIosApp(app).values;
  if (team_id.length !== teamIdLength || teamIdPattern.test(team_id)) return undefined;
  return "The Team ID is not ten capital letters and digits, so iOS will not open the app";
}

/**
 * Returns a warning, without a final period, for fingerprints that the API accepts but Android
 * ignores.
 */
export function findFingerprintWarning(app: AndroidAppFields): string | undefined {
  const { length: count } = checkAndroidApp(app).values.fingerprints;
  const { length: good } = selectSha256(app);
  if (good === count) return undefined;
  const reason = "it needs SHA-256 (32 pairs)";
  if (good === 0) return `Android will ignore all fingerprints and not open the app: ${reason}`;
  return `Android will ignore ${count - good} of ${count} fingerprints: ${reason}`;
}

function checkFingerprints(fingerprints: readonly string[]): FieldProblem[] {
  const faults: string[] = [];
  if (fingerprints.length === 0) faults.push("can't be blank");
  if (fingerprints.length > mostFingerprints) {
    faults.push(`has too many entries (maximum is ${mostFingerprints})`);
  }
  if (fingerprints.some(({ length }) => length > fingerprintCharacters)) {
    faults.push(`has an entry that is too long (maximum is ${fingerprintCharacters} characters)`);
  }
  if (!fingerprints.every((text) => fingerprintPattern.test(text))) faults.push("is invalid");
  return faults.map((fault) => makeFieldProblem("fingerprints", fault));
}

/** For an empty identifier, the API returns two errors: "invalid" and then "blank". */
function checkIdentifier(field: string, value: string, pattern: RegExp): FieldProblem[] {
  const problems = isIdentifier(pattern)(value) ? [] : [makeFieldProblem(field, "is invalid")];
  if (isBlank(value)) problems.push(makeFieldProblem(field, "can't be blank"));
  return problems;
}

function checkShared(values: { name: string | null; custom_scheme: string | null }) {
  return [
    ...checkOptional("name", values.name, isName),
    ...checkOptional("custom_scheme", values.custom_scheme, isAppScheme),
  ];
}

function checkOptional(
  field: string,
  value: string | null,
  isValid: (value: string) => boolean,
): FieldProblem[] {
  return value === null || isValid(value) ? [] : [makeFieldProblem(field, "is invalid")];
}

function isIdentifier(pattern: RegExp): (value: string) => boolean {
  return (value) => value.length <= limits.name_characters && pattern.test(value);
}

function isName(value: string): boolean {
  return value.length <= limits.name_characters && isStorable(value);
}

export function isAppScheme(scheme: string): boolean {
  const folded = scheme.toLowerCase();
  return (
    isIdentifier(schemePattern)(scheme) &&
    !systemSchemes.has(folded) &&
    !systemSchemePrefixes.some((prefix) => folded.startsWith(prefix))
  );
}

/**
 * Reduces an App Clip's ID in Apple's format, `TEAMID1234.bundle.id`, to the bundle ID. Repeated
 * prefixes are removed too, so that saving the stored value again does not change it.
 */
function dropTeamIds(
  clipBundleId: string | null | undefined,
  teamId: string | null | undefined,
): string | null | undefined {
  let bundleId = clipBundleId ?? "";
  for (;;) {
    const prefix = bundleId.slice(0, teamIdLength);
    const isTeamId = prefix === teamId || /^[A-Z0-9]{10}$/.test(prefix);
    const isPrefixed = isTeamId && bundleId.charAt(teamIdLength) === ".";
    if (!isPrefixed || bundleId.length === teamIdLength + 1) return bundleId;
    bundleId = bundleId.slice(teamIdLength + 1);
  }
}

function normalizeScheme(scheme: string | null | undefined): string | null {
  return blankToNull(scheme?.replace(/:\/\/$/, ""));
}

function blankToNull(value: string | null | undefined): string | null {
  return value === undefined || value === null || value.trim() === "" ? null : value;
}
