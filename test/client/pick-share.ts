/**
 * Distributes cases over subjects when the combination does not matter: each subject gets at least
 * one case, and each case at least one subject.
 */
export function pickShare<Case>(
  cases: readonly Case[],
  place: number,
  subjects: number,
): readonly Case[] {
  return cases.filter((_, at) => at % subjects === place % cases.length);
}

/** Distributes cases over subjects of the same kind. */
export function shareByKind<Subject>(
  subjects: readonly Subject[],
  readKind: (subject: Subject) => string,
) {
  return subjects.map((subject) => {
    const alike = subjects.filter((other) => readKind(other) === readKind(subject));
    return {
      subject,
      pick: <Case>(cases: readonly Case[]) =>
        pickShare(cases, alike.indexOf(subject), alike.length),
    };
  });
}
