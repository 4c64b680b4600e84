/** Distributes cases over subjects, so that each subject gets a case and each case a subject. */
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
