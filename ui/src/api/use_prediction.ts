import type { Prediction } from "./forecasts";
import { type Answered, useAnswer } from "./use_answer";

/** Prices are of so many steps. */
export const PRICED_STEPS = 1000;

/** The job on all GPUs, with the price of so many steps where the trace has steps. */
export function usePrediction(): Answered<Prediction> {
  const priced = useAnswer<Prediction>(`predict?total-steps=${PRICED_STEPS}`);
  const plain = useAnswer<Prediction>(priced.error !== "" ? "predict" : null); // Without marked steps, no job has a length.
  const answered = priced.answer !== null || priced.error === "" ? priced : plain;
  const abstained = answered.answer?.abstained[0];
  return abstained === undefined ? answered : { ...answered, answer: null, error: abstained.why };
}
