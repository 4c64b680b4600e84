/** How to mend what the API's own sentences only name, by how they end. */
const hints: readonly (readonly [ending: string, hint: string])[] = [
  ["must be an http or https address", "write it whole, such as https://shop.example/spring"],
  ["Bundle is invalid", "it has letters, digits and hyphens with dots between them"],
  ["Package name is invalid", "it has two parts or more, and each begins with a letter, as a.b"],
  ["Fingerprints is invalid", "each has pairs of hexadecimal digits with colons between, as AB:CD"],
  [
    "Path is not a valid percent-encoding",
    "write the letters themselves, without any percent sign",
  ],
  ["Path is reserved", "the link host answers it by itself; choose another"],
  ["Path can't be blank", "leave the path out where the link is to keep it"],
  ["contains control characters", "take away line breaks and characters that cannot be seen"],
  ["is not a UUID", "copy it from an export, or leave it out"],
];

/** The sentence, with what to do where it does not say so by itself. */
export function addHint(message: string): string {
  const hint = hints.find(([ending]) => message.endsWith(ending))?.[1];
  return hint === undefined ? message : `${message}: ${hint}`;
}
