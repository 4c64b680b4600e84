/**
 * A word as a hasty eye reads it, so that two words of one look come out alike: letters without
 * their marks, those of other alphabets as the Latin ones that they look like, and what is mostly
 * mistaken for each other as one of the two.
 */
export function foldLookAlikes(word: string): string {
  const plain = word.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const latin = Array.from(plain, (letter) => likeLatin.get(letter) ?? letter).join("");
  return latin.replaceAll("rn", "m").replaceAll("vv", "w").replace(/[i1|]/g, "l");
}

/** Cyrillic and Greek letters and digits, each above the letter that it is taken for. */
const others = "аеорсухіјѕһԁԛԝӏкмтвнгοανρυικχωετ0";
const latins = "aeopcyxijshdqwlkmtbhroavpuikxweto";
const likeLatin = new Map(
  Array.from(others, (letter, index) => [letter, latins.charAt(index)] as const),
);
