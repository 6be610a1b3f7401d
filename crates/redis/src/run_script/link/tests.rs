//! Links without a server.

use tokio::sync::Semaphore;

use super::*;

/// Connects once for each permit.
struct Gated(Arc<Semaphore>);

impl Connect for Gated {
    type Connection = ();
    const PARTS: usize = 16;

    async fn connect(&self) -> RedisResult<()> {
        self.0.acquire().await.unwrap().forget();
        Ok(())
    }
}

fn end(sent: Sent<Gated>) {
    let ended = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    sent.end(Err(ended.into())).unwrap_err();
}

fn answer(sent: Sent<Gated>) {
    sent.end(Ok(Vec::new())).unwrap();
}

#[tokio::test]
async fn requests_of_a_part_that_has_ended_wait_for_an_attempt_that_is_made_at_once() {
    let gate = Arc::new(Semaphore::new(1));
    let link = Link::new(Gated(Arc::clone(&gate)));
    let [sent, late] = [link.begin(0).await.unwrap(), link.begin(1).await.unwrap()];
    end(sent);
    let other = link.begin(2).await.unwrap();
    assert_eq!(other.number, 1, "other parts go on");
    answer(other);
    end(late);
    let mut asked = [0, 1].map(|part| Box::pin(link.begin(part)));
    for asked in &mut asked {
        let soon = tokio::time::timeout(Duration::from_millis(20), asked).await;
        assert!(soon.is_err(), "there is no other connection yet");
    }
    gate.add_permits(1);
    for asked in asked {
        let sent = asked.await.unwrap();
        assert_eq!(sent.number, 2);
        // The next attempt comes after a pause, for which nobody waits.
        end(sent);
        let again = link.begin(0).await.unwrap();
        assert_eq!(again.number, 2);
        answer(again);
    }
}

#[tokio::test]
async fn a_connection_that_has_answered_the_part_it_was_made_for_is_replaced_without_a_pause() {
    let link = Link::new(Gated(Arc::new(Semaphore::new(99))));
    let begin = std::time::Instant::now();
    for part in 0..Gated::PARTS {
        end(link.begin(part).await.unwrap());
        answer(link.begin(part).await.unwrap());
    }
    assert_eq!(link.shared.lock().number, 1 + Gated::PARTS as u64);
    // Pauses that double would take ten.
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[test]
fn pauses_double_up_to_the_longest_and_differ() {
    assert_eq!(pause(0), Duration::ZERO);
    for (attempts, longest) in [(1, 50), (2, 100), (3, 200), (6, 1_600), (7, 2_000), (999, 2_000)] {
        let longest = Duration::from_millis(longest);
        let pauses: Vec<_> = (0..100).map(|_| pause(attempts)).collect();
        assert!(pauses.iter().all(|pause| (longest / 2..=longest).contains(pause)));
        assert!(pauses.iter().min().unwrap().mul_f64(1.5) < *pauses.iter().max().unwrap());
    }
}
